package connect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/elazarl/goproxy"
	"go.uber.org/zap"

	"sluice/config"
	"sluice/proxy/accept"
	"sluice/proxy/limits"
)

// Options configures a Proxy. Hosts, Limits, Memory, Log and Metrics are required.
type Options struct {
	// Hosts are the names of the apiserver. Connections to them are intercepted.
	Hosts []config.Destination
	// Limits are the limits of the API listener; of them ReadHeaderTimeout and IdleTimeout apply.
	Limits config.Limits
	// Memory counts the connections.
	Memory *limits.Memory
	// Handshakes counts the TLS handshakes that fail; nil counts none.
	Handshakes *limits.HandshakeMetrics
	Log        *zap.Logger
	Metrics    *Metrics
}

// Proxy is an HTTP proxy to the API. Its methods can be called concurrently.
type Proxy struct {
	options  Options
	hosts    map[config.Destination]bool
	handler  *goproxy.ProxyHttpServer
	refusals *zap.Logger
	api      *accept.Listener // of Merge, which gets the intercepted connections
	requests sync.WaitGroup   // includes those whose connection http.Server does not track any more
}

// New returns a Proxy.
func New(o Options) *Proxy {
	p := &Proxy{
		options: o, hosts: map[config.Destination]bool{},
		refusals: limits.Sampled(o.Log),
	}
	for _, d := range o.Hosts {
		p.hosts[d] = true
	}
	p.handler = goproxy.NewProxyHttpServer()
	p.handler.Logger = logger{o.Log}
	p.handler.ConnectDial = nil
	p.handler.Tr = &http.Transport{DialContext: neverDial}
	p.handler.NonproxyHandler = http.HandlerFunc(p.misdirected)
	p.handler.OnRequest().DoFunc(p.refusePlain)
	p.handler.OnRequest().HandleConnectFunc(p.connect)
	return p
}

// neverDial keeps goproxy from connecting anywhere, should one of its paths be reached.
func neverDial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("the proxy forwards no plain requests")
}

// ServeHTTP implements http.Handler. It answers every request that arrives at the listener.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	defer p.requests.Done()
	if r.Method == http.MethodConnect {
		w = hijacker{w}
	}
	p.handler.ServeHTTP(w, r)
}

// logger writes the few messages of goproxy, of failed writes to clients, to the log.
type logger struct{ *zap.Logger }

// Printf implements goproxy.Logger.
func (l logger) Printf(format string, _ ...any) {
	l.Debug("message of the proxy library", zap.String("format", format)) // the values may come from a client
}
