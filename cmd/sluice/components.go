package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/cmd/sluice/memory"
	"sluice/config"
	"sluice/proxy"
	"sluice/proxy/admin"
	"sluice/proxy/audit"
	"sluice/proxy/auth"
	"sluice/proxy/certs"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/listwatch"
	"sluice/proxy/resources"
	"sluice/proxy/see"
	"sluice/proxy/trace"
	"sluice/proxy/upstream"
)

// components are the parts of a serving process.
type components struct {
	upstream   *upstream.Upstream
	gateway    *proxy.Gateway
	proxy      *explicitProxy // nil if there is none
	resources  *resources.Registry
	access     *auth.Access
	machine    machineLimits
	memory     *limits.Memory
	valve      *limits.Valve
	shrink     atomic.Int64 // bytes that encoded objects leave free besides, see guardMemory
	cpu        *flowcontrol.CPU
	encoded    *tree.Budget
	logLevel   zap.AtomicLevel
	reloader   *reloader
	log        *zap.Logger
	admin      http.Handler
	adminTLS   *tls.Config // nil for plain HTTP
	handshakes *limits.HandshakeMetrics
	ready      *admin.Checks
	stopping   atomic.Bool // a shutdown has begun
	tls        *tls.Config
	health     *upstream.Health
	status     *see.Sampler
	followers  []task // of files that the configuration names, and the writer of the audit log
}

// task is a function that runs until its context ends.
type task func(context.Context) error

// background returns the tasks beside the listeners, in the order of its start.
func (c *components) background() []task {
	return append([]task{
		c.health.Run,            // asks the apiserver for its version
		c.access.Authorizer.Run, // follows RBAC objects
		c.resources.Run,         // fills stores, and watches for them
		c.followMemory,          // divides the memory that stores leave
		c.guardMemory,           // keeps the process within its memory
		c.status.Run,            // samples the metrics
		c.reloader.run,          // follows the configuration file
		memory.Release,          // returns free memory
	}, c.followers...)
}

// build creates the components, those first on which others depend.
func build(file *config.File, log *zap.Logger, metrics *metrics) (*components, error) {
	c := &components{log: log, ready: &admin.Checks{}, handshakes: metrics.handshakes, machine: machine(file.Limits.Memory)}
	c.memory, c.valve = limits.NewMemory(c.machine.memory, c.machine.descriptors), limits.NewValve(c.machine.memory, limits.Used(c.machine.memory))
	c.cpu = flowcontrol.NewCPU(runtime.GOMAXPROCS(0))
	tracer, err := c.tracer(file.Tracing)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := restConfig(file.Upstream.Kubeconfig, file.Upstream.Context)
	if err != nil {
		return nil, err
	}
	if c.upstream, err = upstream.New(upstream.Options{
		Config:      kubeconfig,
		UserAgent:   userAgent(),
		FrontProxy:  upstream.KeyPair{CertFile: file.Upstream.FrontProxy.CertFile, KeyFile: file.Upstream.FrontProxy.KeyFile},
		HeaderNames: headerNames(file.Upstream.FrontProxy),
		Accepted:    acceptedNames(file.Authentication.FrontProxy),
		Compress:    file.Upstream.Compress,
		Wrap: func(purpose string, rt http.RoundTripper) http.RoundTripper {
			return tracer.Wrap(purpose, metrics.upstream.Wrap(purpose, rt))
		},
	}); err != nil {
		return nil, err
	}
	c.followers = append(c.followers, func(ctx context.Context) error { return c.upstream.FollowHeaderNames(ctx, log.Named("upstream")) })
	c.health = upstream.NewHealth(c.upstream, log.Named("upstream"))
	metrics.registry.MustRegister(c.upstream.Clock.Metric())
	if err := c.setAccess(file, log, metrics); err != nil {
		return nil, err
	}
	c.resources = resources.New(resources.Options{
		Upstream: c.upstream,
		Exclude:  file.Cache.Excluded(),
		Store:    cache.Options{HistoryAge: file.Cache.HistoryAge.Duration, HistoryBytes: file.Cache.HistoryBytes},
		Limits: resources.Limits{
			Bytes: storesMemory(file.Cache.MaxBytes, memory.Limit()), Idle: file.Cache.Idle.Duration,
		},
		CheckEvery: file.Cache.CheckEvery.Duration,
		ProofCost:  proofCost(file.Cache.Proofs),
		Log:        log.Named("resources"),
		Watches:    metrics.upstream.Watch,
	})
	metrics.registry.MustRegister(c.resources.Collector())
	auditLog, err := c.auditLog(file.Audit, log, metrics)
	if err != nil {
		return nil, err
	}
	c.encoded = tree.NewBudget(*file.Cache.EncodedBytes)
	metrics.observeEncoded(c.encoded)
	metrics.observeMemory(c.valve)
	metrics.registry.MustRegister(memory.Collector{Stores: c.resources.Memory, Encoded: c.encoded.Used})
	c.gateway = proxy.New(proxy.Options{
		Config: file, Upstream: c.upstream, Access: c.access, Resources: c.resources, Log: log, Metrics: metrics.gateway,
		Handshakes: metrics.handshakes, Tracer: tracer, Audit: auditLog, Encoded: c.encoded,
		Memory: c.memory, CPU: c.cpu,
	})
	metrics.registry.MustRegister(c.gateway.Collectors()...)
	if c.tls, err = c.servingTLS(file, log, metrics); err != nil {
		return nil, err
	}
	if !file.Admin.PlainHTTP() {
		c.adminTLS = c.tls.Clone() // the server adds to it
	}
	if c.proxy, err = c.explicitProxy(file, log, metrics); err != nil {
		return nil, err
	}
	c.admin = c.adminHandler(file, metrics)
	return c, nil
}

// auditLog returns the audit log; nil if there is none.
func (c *components) auditLog(a config.Audit, log *zap.Logger, metrics *metrics) (*audit.Log, error) {
	if a.Path == "" {
		return nil, nil
	}
	out, err := audit.Open(a)
	if err != nil {
		return nil, err
	}
	l := audit.New(out, log.Named("audit"), metrics.audit)
	c.followers = append(c.followers, l.Run)
	return l, nil
}

// tracer returns the tracer; nil if nothing is traced.
func (c *components) tracer(t config.Tracing) (*trace.Tracer, error) {
	if t.Endpoint == "" {
		return nil, nil
	}
	tracer, err := trace.New(t.Endpoint, t.SamplingRatePerMillion, version, c.log.Named("tracing"))
	if err != nil {
		return nil, err
	}
	c.followers = append(c.followers, tracer.Run)
	return tracer, nil
}

// follower returns a function that follows the objects of a resource.
func (c *components) follower(log *zap.Logger) auth.Follower {
	return func(ctx context.Context, resource schema.GroupVersionResource, changed func(string, []byte), read func()) {
		opened := func() (uncounted func()) {
			read()
			return func() {}
		}
		o := listwatch.Options{Opened: opened, Whole: resource.Resource == "rolebindings"}
		listwatch.NewFollower(c.upstream, resource, log, o).Run(ctx, func(c listwatch.Change) { changed(string(c.Key), c.Object) })
	}
}

// knownReviews is the part of the places of reviews, as a divisor, for callers and accesses that were allowed before.
const knownReviews = 4

// setAccess creates the authentication and authorization of callers.
func (c *components) setAccess(file *config.File, log *zap.Logger, metrics *metrics) error {
	reviews, err := c.upstream.Reviews(c.upstream.Self)
	if err != nil {
		return fmt.Errorf("upstream client: %w", err)
	}
	metrics.access.LogFailures(log.Named("auth"))
	n := file.Authentication.ReviewsInFlight
	queue := limits.NewQueue(n, n/knownReviews)
	o := auth.AuthorizerOptions{
		Reviews: reviews, Rules: reviews, Version: c.health.Version, CPU: c.cpu,
		AllowTTL: file.Authorization.AllowTTL.Duration, DenyTTL: file.Authorization.DenyTTL.Duration,
		Queue: queue, IgnoredExtra: file.Authorization.IgnoredExtra,
		RBAC: c.follower(log.Named("auth")), Metrics: metrics.access, Memory: c.machine.memory,
	}
	tokens := auth.Reviewer(reviews)
	if file.Authentication.Callers == config.CallersSelf {
		callers, err := c.upstream.Reviews(auth.WithCallerToken(c.upstream.Anonymous))
		if err != nil {
			return fmt.Errorf("upstream client: %w", err)
		}
		self := auth.NewSelf(callers, reviews).Review
		tokens, o.Reviews, o.Rules, o.RBAC = self, self, nil, nil // few may follow RBAC objects
	}
	authenticator, err := c.authenticator(file, tokens, queue, metrics.access)
	if err != nil {
		return err
	}
	c.access = &auth.Access{Authenticator: authenticator, Authorizer: auth.NewAuthorizer(o)}
	c.access.SetStaleFor(file.Authorization.StaleFor.Duration)
	c.access.SetSome(file.Authorization.AllowedNamespaces.Match)
	return nil
}

// proofCost returns the bound of the proofs of each store.
func proofCost(p config.Proofs) fence.Cost {
	return fence.Cost{Share: p.CorePercent / 100, BytesPerSecond: p.BytesPerSecond}
}

// authenticator returns the authentication of callers.
func (c *components) authenticator(
	file *config.File, reviews auth.Reviewer, queue *limits.Queue, metrics *auth.Metrics,
) (*auth.Authenticator, error) {
	a := &file.Authentication
	o := auth.AuthenticatorOptions{
		TokenTTL: a.TokenTTL.Duration, Audiences: a.TokenAudiences, Unauthenticated: c.memory.Unauthenticated,
		Queue: queue, Anonymous: a.Anonymous, Metrics: metrics, Memory: c.machine.memory,
	}
	if *a.Tokens {
		o.Reviews = reviews
	}
	var err error
	if o.ClientCA, err = c.clientCA("client-ca", a.ClientCAFile); err != nil {
		return nil, err
	}
	if p := a.FrontProxy; p.ClientCAFile != "" {
		o.FrontProxy = &auth.FrontProxy{
			Names: p.Names, Headers: acceptedNames(p),
		}
		if o.FrontProxy.CA, err = c.clientCA("front-proxy-ca", p.ClientCAFile); err != nil {
			return nil, err
		}
	}
	return auth.NewAuthenticator(o), nil
}

// clientCA returns a CA of client certificates, which follows its file; nil without a path.
func (c *components) clientCA(name, path string) (func() *x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	ca, err := certs.NewCA(path, c.log.Named("certs"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.followers = append(c.followers, ca.Run)
	return ca.Roots, nil
}

// servingTLS returns the TLS configuration of the API listener. TLS requests client certificates but
// does not verify them: the authenticator does, and a caller without a valid one may have a token.
func (c *components) servingTLS(file *config.File, log *zap.Logger, metrics *metrics) (*tls.Config, error) {
	certFile, keyFile := file.TLS.CertFile, file.TLS.KeyFile
	if certFile == "" {
		hosts := c.hosts(file)
		dir, err := file.TLS.Dir()
		if err != nil {
			return nil, err
		}
		files, err := certs.Ensure(dir, hosts)
		if err != nil {
			return nil, err
		}
		c.followers = append(c.followers, func(ctx context.Context) error {
			return certs.Renew(ctx, dir, hosts, log.Named("certs"))
		})
		certFile, keyFile = files.Cert, files.Key
		message := "serving certificate reused"
		if files.Issued {
			message = "serving certificate issued"
		}
		log.Info(message, zap.String("ca", files.CA))
	}
	serving := &certs.Selector{}
	for i, pair := range append([]config.KeyPair{{CertFile: certFile, KeyFile: keyFile}}, file.TLS.SNI...) {
		reloader, err := certs.NewReloader(pair.CertFile, pair.KeyFile, log.Named("certs"))
		if err != nil {
			return nil, err
		}
		name := "serving"
		if i > 0 {
			name = fmt.Sprintf("sni-%d", i)
		}
		metrics.registry.MustRegister(reloader.Metric(name))
		c.followers = append(c.followers, reloader.Run)
		serving.Add(reloader)
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: serving.GetCertificate,
	}
	if file.Authentication.ClientCAFile != "" || file.Authentication.FrontProxy.ClientCAFile != "" {
		config.ClientAuth = tls.RequestClientCert
	}
	return config, nil
}

// hosts returns the DNS names and IP addresses for the certificate that Sluice issues.
func (c *components) hosts(file *config.File) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, file.TLS.Hosts...)
	if host, _, err := net.SplitHostPort(file.Listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			names = append(names, host)
		}
	}
	if file.Proxy.Listen != "" {
		for _, d := range c.proxyHosts(file) {
			names = append(names, d.Host)
		}
	}
	return names
}

// adminHandler returns the handler of the admin listener.
func (c *components) adminHandler(file *config.File, metrics *metrics) http.Handler {
	ping := func() error { return nil }
	live := &admin.Checks{}
	live.Add("ping", ping)
	c.ready.Add("ping", ping)
	c.ready.Add("upstream", c.health.CheckOpenly)
	c.ready.Add("rights", c.resources.CheckRights)
	var protect func(http.Handler) http.Handler
	if file.Admin.Access == config.AccessAuthorized {
		protect = c.access.WithPathAccess
	}
	c.status = c.sampler(file, metrics)
	return admin.Handler(admin.Options{
		Protect: protect, Live: live, Ready: c.ready, Notes: c.notes, Metrics: metrics.registry, Status: c.status.Handler(),
		Hosts: file.Admin.Hosts, Profiling: file.Admin.Profiling, Config: func() any { return c.reloader.running.Load() },
	})
}
