package proxy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// watchSpread is the time per open watch over which a drain ends the watches, so that not all
	// clients come back at once: 2,000 a second.
	watchSpread = 500 * time.Microsecond
	// leastSpread is the least time for all of them.
	leastSpread = 50 * time.Millisecond
	// watchEnd is how long watches may take to end beyond the spread: none ends before it is a second
	// old.
	watchEnd = 1500 * time.Millisecond
)

// spread returns the time over which the open watches end.
func (g *Gateway) spread() time.Duration {
	spread := max(time.Duration(g.watches.count())*watchSpread, leastSpread)
	return min(spread, g.options.Config.Shutdown.Grace.Duration/2)
}

// withDrain counts the requests for the drain, and refuses new watches once all watches have to end.
// Their clients try again after a second, elsewhere or at a successor.
func (g *Gateway) withDrain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := g.counted(r)
		counted.enter()
		defer counted.leave()
		if counted == &g.watches && g.watchesEnd() {
			refuseDraining(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// counted returns among which requests r counts.
func (g *Gateway) counted(r *http.Request) *running {
	if request.From(r.Context()).Verb == "watch" {
		return &g.watches
	}
	if s, ok := r.Context().Value(generationKey{}).(*generation); ok {
		return &s.requests
	}
	return &running{} // of a server that does not drain
}

func (g *Gateway) watchesEnd() bool {
	select {
	case <-g.draining:
		return true
	default:
		return false
	}
}

func refuseDraining(w http.ResponseWriter, r *http.Request) {
	request.From(r.Context()).Outcome = request.Outcome{Source: request.SourceGateway, Reason: "shutting-down"}
	w.Header().Set("Connection", "close")
	response.Error(w, r, errShuttingDown)
}

var errShuttingDown = response.NewUnavailable(message.ShuttingDown.Say())

// running counts requests under way. The zero value is ready to use.
type running struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n gets to 0; nil until somebody waits
}

func (c *running) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *running) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

func (c *running) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// wait returns when nothing runs, or the context's error when it ends first.
func (c *running) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
