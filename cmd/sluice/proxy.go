package main

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"slices"

	"go.uber.org/zap"

	"sluice/config"
	"sluice/proxy/certs"
	"sluice/proxy/connect"
)

// explicitProxy is the listener for clients that use an HTTP proxy.
type explicitProxy struct {
	*connect.Proxy
	tls      *tls.Config  // nil: http
	listener net.Listener // after open
}

// explicitProxy returns the proxy, or nil if there is none.
func (c *components) explicitProxy(file *config.File, log *zap.Logger, metrics *metrics) (*explicitProxy, error) {
	if file.Proxy.Listen == "" {
		return nil, nil
	}
	log = log.Named("connect")
	o := connect.Options{
		Hosts: c.proxyHosts(file), Limits: file.Limits,
		Memory: c.memory, Handshakes: metrics.handshakes, Log: log, Metrics: metrics.connect,
	}
	p := &explicitProxy{Proxy: connect.New(o)}
	if pair := file.Proxy.TLS; pair.CertFile != "" {
		reloader, err := certs.NewReloader(pair.CertFile, pair.KeyFile, log)
		if err != nil {
			return nil, err
		}
		metrics.registry.MustRegister(reloader.Metric("proxy"))
		c.followers = append(c.followers, reloader.Run)
		serving := &certs.Selector{}
		serving.Add(reloader)
		p.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: serving.GetCertificate}
	}
	return p, nil
}

// proxyHosts returns the names of the apiserver that the proxy intercepts: those of the configuration,
// or those by which clients know it by default.
func (c *components) proxyHosts(file *config.File) []config.Destination {
	if len(file.Proxy.Hosts) > 0 {
		return destinations(file.Proxy.Hosts)
	}
	var names []string
	if u, err := url.Parse(c.upstream.Address()); err == nil {
		port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
		names = append(names, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	}
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" {
		names = append(names, net.JoinHostPort(host, cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443")))
	}
	for _, name := range []string{"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "kubernetes.default",
		"kubernetes"} {
		names = append(names, name+":443")
	}
	return destinations(names)
}

// destinations parses destinations. Those of a configuration are valid.
func destinations(list []string) []config.Destination {
	var all []config.Destination
	for _, s := range list {
		if d, err := config.ParseDestination(s); err == nil && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// ready returns the part about the proxy of the line that tells the addresses: the URL that clients set
// as their proxy.
func (p *explicitProxy) ready() string {
	switch {
	case p == nil:
		return ""
	case p.tls != nil:
		return " proxy https://" + p.listener.Addr().String()
	}
	return " proxy http://" + p.listener.Addr().String()
}
