package connect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"
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
	// Tunnel are other destinations to which clients may connect.
	Tunnel []config.Destination
	// Users are those who may use the proxy; nil means everybody.
	Users *Users
	// Limits are the limits of the API listener; of them ReadHeaderTimeout and IdleTimeout apply.
	Limits config.Limits
	// Connections counts the connections, together with those of the API listener.
	Connections *connections.Limiter
	// Handshakes counts the TLS handshakes that fail; nil counts none.
	Handshakes *handshake.Metrics
	// Grace is how long tunnels stay open after shutdown has begun.
	Grace   time.Duration
	Log     *zap.Logger
	Metrics *Metrics
}

// Proxy is an HTTP proxy to the API. Its methods can be called concurrently.
type Proxy struct {
	options Options
	hosts   map[config.Destination]bool
	allowed atomic.Pointer[map[config.Destination]bool] // of tunnels
	handler *goproxy.ProxyHttpServer

	refusals, unopened *flood.Log

	api *accept.Listener // of Merge, which gets the intercepted connections

	requests sync.WaitGroup  // includes tunnels, which http.Server does not track
	cut      context.Context // ends when tunnels must
	cutAll   context.CancelFunc

	// Tests replace these.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns a Proxy.
func New(o Options) *Proxy {
	p := &Proxy{
		options: o, hosts: set(o.Hosts),
		refusals: flood.New(o.Log, "more proxy connections refused", "connections"),
		unopened: flood.New(o.Log, "more tunnels not opened", "tunnels"),
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		dial: (&net.Dialer{}).DialContext,
	}
	p.SetTunnel(o.Tunnel)
	p.cut, p.cutAll = context.WithCancel(context.Background())
	p.handler = goproxy.NewProxyHttpServer()
	p.handler.Logger = logger{o.Log}
	p.handler.ConnectDial = nil
	p.handler.Tr = &http.Transport{DialContext: neverDial}
	p.handler.NonproxyHandler = http.HandlerFunc(p.misdirected)
	p.handler.OnRequest().DoFunc(p.refusePlain)
	p.handler.OnRequest().HandleConnectFunc(p.connect)
	return p
}

// SetTunnel replaces the other destinations to which clients may connect. Open tunnels stay.
func (p *Proxy) SetTunnel(list []config.Destination) {
	allowed := set(list)
	p.allowed.Store(&allowed)
}

func set(list []config.Destination) map[config.Destination]bool {
	m := make(map[config.Destination]bool, len(list))
	for _, d := range list {
		m[d] = true
	}
	return m
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
