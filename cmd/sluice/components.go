package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"

	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/cache"
	"sluice/config"
	"sluice/proxy"
	"sluice/proxy/admin"
	"sluice/proxy/auth"
	"sluice/proxy/certs"
	"sluice/proxy/forward"
	"sluice/proxy/resources"
	"sluice/proxy/upstream"
)

// components are the parts of a serving process.
type components struct {
	upstream   *upstream.Upstream
	gateway    *proxy.Gateway
	admin      http.Handler
	ready      *admin.Checks
	tls        *tls.Config
	background []func(context.Context) error // each runs until its context ends
}

// build creates the components, those first on which others depend.
func build(file *config.File, log *zap.Logger, metrics *metrics) (*components, error) {
	c := &components{ready: &admin.Checks{}}
	kubeconfig, err := restConfig(file.Upstream)
	if err != nil {
		return nil, err
	}
	if c.upstream, err = upstream.New(upstream.Options{
		Config:      kubeconfig,
		UserAgent:   userAgent(),
		FrontProxy:  upstream.KeyPair{CertFile: file.Upstream.FrontProxy.CertFile, KeyFile: file.Upstream.FrontProxy.KeyFile},
		HeaderNames: headerNames(file.Upstream.FrontProxy),
		Accepted:    acceptedNames(file.Authentication.FrontProxy),
		Wrap:        metrics.upstream.Wrap,
	}); err != nil {
		return nil, err
	}
	c.background = append(c.background, func(ctx context.Context) error {
		return c.upstream.FollowHeaderNames(ctx, log.Named("upstream"))
	})
	access, err := c.access(file, log, metrics)
	if err != nil {
		return nil, err
	}
	registry := resources.New(resources.Options{
		Upstream:   c.upstream,
		Exclude:    file.Cache.Excluded(),
		Store:      cache.Options{HistoryAge: file.Cache.HistoryAge.Duration, HistoryBytes: file.Cache.HistoryBytes},
		Limits:     resources.Limits{Resources: file.Cache.MaxResources, PerUser: file.Cache.MaxResourcesPerUser, Bytes: file.Cache.MaxBytes, Idle: file.Cache.Idle.Duration},
		CheckEvery: file.Cache.CheckEvery.Duration,
		ProofCost:  cache.Cost{Share: file.Cache.Proofs.CorePercent / 100, BytesPerSecond: file.Cache.Proofs.BytesPerSecond},
		Log:        log.Named("resources"),
		Watches:    metrics.upstream.Watch,
	})
	metrics.registry.MustRegister(registry.Collector())
	c.background = append(c.background, registry.Run)
	encoded := cache.NewBudget(*file.Cache.EncodedBytes)
	metrics.observeEncoded(encoded)
	c.gateway = proxy.New(proxy.Options{
		ForwardLimits: forwardLimits(file.Upstream.InFlight),
		Upstream:      c.upstream, Access: access, Resources: registry, Log: log, Metrics: metrics.gateway,
		Encoded: encoded, DebugHeaders: file.DebugHeaders, Strict: file.Compatibility == config.Strict,
		CompressWatches: file.Compression.Watches, WatchRecheck: file.Authorization.WatchRecheck.Duration,
		Features: proxy.Features(file.Features), Limits: file.Limits,
		Drain: proxy.Drain{Delay: file.Shutdown.Delay.Duration, Grace: file.Shutdown.Grace.Duration},
	})
	metrics.registry.MustRegister(c.gateway.Collectors()...)
	if c.tls, err = c.servingTLS(file, log); err != nil {
		return nil, err
	}
	c.admin = c.adminHandler(file, metrics, registry)
	return c, nil
}

// access returns the authentication and authorization of callers.
func (c *components) access(file *config.File, log *zap.Logger, metrics *metrics) (*auth.Access, error) {
	clients, err := c.upstream.Client()
	if err != nil {
		return nil, fmt.Errorf("upstream client: %w", err)
	}
	authenticator, err := c.authenticator(&file.Authentication, clients.AuthenticationV1(), metrics.access)
	if err != nil {
		return nil, err
	}
	authorizer := auth.NewAuthorizer(auth.AuthorizerOptions{
		Reviews:  clients.AuthorizationV1(),
		AllowTTL: file.Authorization.AllowTTL.Duration, DenyTTL: file.Authorization.DenyTTL.Duration,
		ReviewsInFlight: file.Authentication.ReviewsInFlight,
		RBAC:            c.upstream, Log: log.Named("auth"), Metrics: metrics.access,
	})
	c.background = append(c.background, authorizer.Run)
	return &auth.Access{Authenticator: authenticator, Authorizer: authorizer}, nil
}

// authenticator returns the authentication of callers.
func (c *components) authenticator(a *config.Authentication, reviews authenticationclient.AuthenticationV1Interface, metrics *auth.Metrics) (*auth.Authenticator, error) {
	o := auth.AuthenticatorOptions{
		TokenTTL: a.TokenTTL.Duration, Audiences: a.TokenAudiences, RejectedTokens: a.RejectedTokens,
		ReviewsInFlight: a.ReviewsInFlight, Anonymous: a.Anonymous, Metrics: metrics,
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
			Names: p.Names, UserHeaders: p.UserHeaders, UIDHeaders: p.UIDHeaders, GroupHeaders: p.GroupHeaders, ExtraPrefixes: p.ExtraPrefixes,
		}
		if o.FrontProxy.CA, err = c.clientCA("front-proxy-ca", p.ClientCAFile); err != nil {
			return nil, err
		}
	}
	return auth.NewAuthenticator(o)
}

// clientCA returns a CA of client certificates, which follows its file; nil without a path.
func (c *components) clientCA(name, path string) (dynamiccertificates.CAContentProvider, error) {
	if path == "" {
		return nil, nil
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile(name, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.background = append(c.background, func(ctx context.Context) error {
		ca.Run(ctx, 1)
		return nil
	})
	return ca, nil
}

// servingTLS returns the TLS configuration of the API listener. TLS requests client certificates but
// does not verify them: the authenticator does, and a caller without a valid one may have a token.
func (c *components) servingTLS(file *config.File, log *zap.Logger) (*tls.Config, error) {
	certFile, keyFile := file.TLS.CertFile, file.TLS.KeyFile
	if certFile == "" {
		files, err := certs.Ensure(file.TLS.CertDir, hosts(file))
		if err != nil {
			return nil, err
		}
		certFile, keyFile = files.Cert, files.Key
		log.Info("serving certificate issued", zap.String("ca", files.CA))
	}
	serving := &certs.Selector{}
	for _, pair := range append([]config.KeyPair{{CertFile: certFile, KeyFile: keyFile}}, file.TLS.SNI...) {
		reloader, err := certs.NewReloader(pair.CertFile, pair.KeyFile, log.Named("certs"))
		if err != nil {
			return nil, err
		}
		c.background = append(c.background, reloader.Run)
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
func hosts(file *config.File) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, file.TLS.Hosts...)
	if host, _, err := net.SplitHostPort(file.Listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			names = append(names, host)
		}
	}
	return names
}

// adminHandler returns the handler of the admin listener.
func (c *components) adminHandler(file *config.File, metrics *metrics, registry *resources.Registry) http.Handler {
	ping := func() error { return nil }
	live := &admin.Checks{}
	live.Add("ping", ping)
	c.ready.Add("ping", ping)
	health := upstream.NewHealth(c.upstream)
	c.background = append(c.background, health.Run)
	c.ready.Add("upstream", health.Check)
	return admin.Handler(admin.Options{
		Live: live, Ready: c.ready, Notes: syncNotes(registry), Metrics: metrics.registry,
		Hosts: file.Admin.Hosts, Profiling: file.Admin.Profiling,
	})
}

// syncNotes reports which stores are in sync. A store that is not does not make the process unready:
// its reads are forwarded.
func syncNotes(registry *resources.Registry) func() []string {
	return func() []string {
		var lines []string
		for _, s := range registry.States() {
			state := "ok"
			if !s.Synced {
				state = "not in sync, reads are forwarded"
			}
			lines = append(lines, fmt.Sprintf("[+]cache-sync/%s %s", s.Resource, state))
		}
		return lines
	}
}

// headerNames returns the configured names of front-proxy headers of the apiserver; nil if they are to
// be read from it.
func headerNames(p config.UpstreamFrontProxy) *upstream.HeaderNames {
	if len(p.UserHeaders) == 0 {
		return nil
	}
	return &upstream.HeaderNames{User: p.UserHeaders, UID: p.UIDHeaders, Group: p.GroupHeaders, ExtraPrefix: p.ExtraPrefixes}
}

// acceptedNames returns the names of the headers in which Sluice itself accepts users from front proxies.
func acceptedNames(p config.FrontProxy) upstream.HeaderNames {
	return upstream.HeaderNames{User: p.UserHeaders, UID: p.UIDHeaders, Group: p.GroupHeaders, ExtraPrefix: p.ExtraPrefixes}
}

func forwardLimits(l config.InFlight) forward.Limits {
	return forward.Limits{Anonymous: l.Anonymous, Reads: l.Reads, Writes: l.Writes, Leases: l.Leases, Streams: l.Streams}
}

// restConfig loads the kubeconfig by client-go's rules.
func restConfig(u config.Upstream) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = u.Kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: u.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if c.Host == "" {
		return nil, errors.New("kubeconfig: no apiserver")
	}
	return c, nil
}

// userAgent returns the User-Agent of Sluice's own requests.
func userAgent() string {
	return fmt.Sprintf("sluice/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
}
