package connect

import (
	"io"
	"net/http"
	"sync"
	"time"

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
	Memory  *limits.Memory
	Log     *zap.Logger
	Metrics *Metrics
}

// Proxy is an HTTP proxy to the API. Its methods can be called concurrently.
type Proxy struct {
	options  Options
	refusals *zap.Logger
	api      *accept.Listener // of Merge, which gets the intercepted connections
	requests sync.WaitGroup   // includes those whose connection http.Server does not track any more
}

// New returns a Proxy.
func New(o Options) *Proxy { return &Proxy{options: o, refusals: limits.Sampled(o.Log)} }

// replyTimeout is the time for a client to accept the short reply to its CONNECT.
const replyTimeout = 10 * time.Second

// ServeHTTP implements http.Handler. It answers every request that arrives at the listener: it hands the connection of a
// CONNECT to the server of the API, or refuses the request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	defer p.requests.Done()
	if refusal := p.check(r); refusal != nil {
		p.refused(r, refusal.decision)
		refusal.write(w, r)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // not reached: the server speaks HTTP/1.1
	}
	_ = conn.SetWriteDeadline(time.Now().Add(replyTimeout))
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetWriteDeadline(time.Time{}) // the server of the API sets its own
	if p.api.Hand(withEarly(conn, rw.Reader)) {
		p.options.Metrics.connections.WithLabelValues(decisionIntercepted).Inc()
	} else {
		p.refused(r, decisionShuttingDown)
	}
}
