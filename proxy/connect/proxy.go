package connect

import (
	"sync"

	"go.uber.org/zap"

	"sluice/config"
	"sluice/proxy/accept"
	"sluice/proxy/connections"
	"sluice/proxy/flood"
	"sluice/proxy/handshake"
)

// Options configures a Proxy. Hosts, Limits, Connections, Log and Metrics are required.
type Options struct {
	// Hosts are the names of the apiserver. Connections to them are intercepted.
	Hosts []config.Destination
	// Limits are the limits of the API listener; of them ReadHeaderTimeout and IdleTimeout apply.
	Limits config.Limits
	// Connections counts the connections, together with those of the API listener.
	Connections *connections.Limiter
	// Handshakes counts the TLS handshakes that fail; nil counts none.
	Handshakes *handshake.Metrics
	Log        *zap.Logger
	Metrics    *Metrics
}

// Proxy is an HTTP proxy to the API. Its methods can be called concurrently.
type Proxy struct {
	options  Options
	hosts    map[config.Destination]bool
	refusals *zap.Logger
	api      *accept.Listener // of Merge, which gets the intercepted connections
	requests sync.WaitGroup   // includes those whose connection http.Server does not track any more
}

// New returns a Proxy.
func New(o Options) *Proxy {
	p := &Proxy{
		options: o, hosts: map[config.Destination]bool{},
		refusals: flood.Sampled(o.Log),
	}
	for _, d := range o.Hosts {
		p.hosts[d] = true
	}
	return p
}
