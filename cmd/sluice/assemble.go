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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/cache"
	"sluice/config"
	"sluice/proxy"
	"sluice/proxy/admin"
	"sluice/proxy/auth"
	"sluice/proxy/certs"
	"sluice/proxy/resources"
	"sluice/proxy/upstream"
)

// parts are what a serving process consists of.
type parts struct {
	upstream   *upstream.Upstream
	gateway    *proxy.Gateway
	admin      http.Handler
	checks     *admin.Checks // of readiness
	tls        *tls.Config
	background []func(context.Context) error // run until their context ends
}

// assemble makes the parts, from the upstream up.
func assemble(file *config.File, log *zap.Logger, metrics *instruments) (*parts, error) {
	p := &parts{checks: &admin.Checks{}}
	kubeconfig, err := restConfig(file.Upstream)
	if err != nil {
		return nil, err
	}
	if p.upstream, err = upstream.New(upstream.Options{
		Config:     kubeconfig,
		UserAgent:  userAgent(),
		FrontProxy: upstream.KeyPair(file.Upstream.FrontProxy),
		Wrap:       metrics.upstream.Wrap,
	}); err != nil {
		return nil, err
	}
	access, err := p.access(file)
	if err != nil {
		return nil, err
	}
	m := resources.New(resources.Options{
		Upstream:   p.upstream,
		Exclude:    file.Cache.Exclude,
		Store:      cache.Options{HistoryAge: file.Cache.HistoryAge.Duration, HistoryBytes: file.Cache.HistoryBytes},
		Limits:     resources.Limits{Resources: file.Cache.MaxResources, Bytes: file.Cache.MaxBytes, Idle: file.Cache.Idle.Duration},
		CheckEvery: file.Cache.CheckEvery.Duration,
		Log:        log.Named("resources"),
		Watches:    metrics.upstream.Watch,
	})
	metrics.registry.MustRegister(m.Collector())
	p.background = append(p.background, m.Run)
	encoded := cache.NewBudget(*file.Cache.EncodedBytes)
	metrics.encoded(encoded)
	p.gateway = proxy.New(proxy.Options{
		Upstream: p.upstream, Access: access, Resources: m, Log: log, Metrics: metrics.gateway,
		Encoded: encoded, DebugHeaders: file.DebugHeaders, Strict: file.Compatibility == config.Strict,
		CompressWatches: file.Compression.Watches, WatchRecheck: file.Authorization.WatchRecheck.Duration,
		Features: proxy.Features(file.Features),
		Drain:    proxy.Drain{Delay: file.Shutdown.Delay.Duration, Grace: file.Shutdown.Grace.Duration},
	})
	if p.tls, err = p.serving(file, log); err != nil {
		return nil, err
	}
	p.admin = p.adminHandler(file, metrics, m)
	return p, nil
}

// access sets up who may read out of the cache.
func (p *parts) access(file *config.File) (*auth.Access, error) {
	clients, err := p.upstream.Client()
	if err != nil {
		return nil, fmt.Errorf("upstream client: %w", err)
	}
	ca, err := p.clientCA(file.Authentication.ClientCAFile)
	if err != nil {
		return nil, err
	}
	authenticator := auth.NewAuthenticator(auth.AuthenticatorOptions{
		Reviews: clients.AuthenticationV1(), TokenTTL: file.Authentication.TokenTTL.Duration, ClientCA: ca,
	})
	authorizer, err := auth.NewAuthorizer(auth.AuthorizerOptions{
		Reviews:  clients.AuthorizationV1(),
		AllowTTL: file.Authorization.AllowTTL.Duration, DenyTTL: file.Authorization.DenyTTL.Duration,
	})
	if err != nil {
		return nil, err
	}
	return &auth.Access{Authenticator: authenticator, Authorizer: authorizer}, nil
}

// clientCA follows the file of the CA for client certificates.
func (p *parts) clientCA(path string) (dynamiccertificates.CAContentProvider, error) {
	if path == "" {
		return nil, nil
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", path)
	if err != nil {
		return nil, fmt.Errorf("client CA: %w", err)
	}
	p.background = append(p.background, func(ctx context.Context) error {
		ca.Run(ctx, 1)
		return nil
	})
	return ca, nil
}

// serving sets up TLS. Certificates of clients are asked for but not verified
// here: the authenticator does, and a caller without a good one may have a token.
func (p *parts) serving(file *config.File, log *zap.Logger) (*tls.Config, error) {
	certFile, keyFile := file.TLS.CertFile, file.TLS.KeyFile
	if certFile == "" {
		made, err := certs.Ensure(file.TLS.CertDir, hosts(file))
		if err != nil {
			return nil, err
		}
		certFile, keyFile = made.Cert, made.Key
		log.Info("serving certificate made here", zap.String("ca", made.CA))
	}
	reloader, err := certs.NewReloader(certFile, keyFile, log.Named("certs"))
	if err != nil {
		return nil, err
	}
	p.background = append(p.background, reloader.Run)
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: reloader.GetCertificate,
	}
	if file.Authentication.ClientCAFile != "" {
		c.ClientAuth = tls.RequestClientCert
	}
	return c, nil
}

// hosts are the names for a certificate made here.
func hosts(file *config.File) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, file.TLS.Hosts...)
	if host, _, err := net.SplitHostPort(file.Listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			names = append(names, host)
		}
	}
	return names
}

func (p *parts) adminHandler(file *config.File, metrics *instruments, m *resources.Registry) http.Handler {
	ping := func() error { return nil }
	live := &admin.Checks{}
	live.Add("ping", ping)
	p.checks.Add("ping", ping)
	health := upstream.NewHealth(p.upstream)
	p.background = append(p.background, health.Run)
	p.checks.Add("upstream", health.Check)
	return admin.Handler(admin.Options{
		Live: live, Ready: p.checks, Notes: notes(m), Metrics: metrics.registry, Profiling: file.Admin.Profiling,
	})
}

// notes tells which stores are in sync. One that is not costs speed, not
// readiness: its reads pass.
func notes(m *resources.Registry) func() []string {
	return func() []string {
		var lines []string
		for _, s := range m.Report() {
			state := "ok"
			if !s.Synced {
				state = "not in sync, reads pass"
			}
			lines = append(lines, fmt.Sprintf("[+]cache-sync/%s %s", s.Resource, state))
		}
		return lines
	}
}

func restConfig(u config.Upstream) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = u.Kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: u.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if c.Host == "" {
		return nil, errors.New("kubeconfig: names no apiserver")
	}
	return c, nil
}

func userAgent() string {
	return fmt.Sprintf("sluice/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
}
