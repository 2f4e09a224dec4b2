package proxy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"sluice/cache"
	"sluice/proxy/auth"
	"sluice/proxy/forward"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/proxy/upstream"
)

// Features are what is served though the upstream may not have it.
type Features = serve.Features

// Options sets up a Gateway.
type Options struct {
	Upstream  *upstream.Upstream
	Access    *auth.Access
	Resources *resources.Registry
	Log       *zap.Logger
	Metrics   *Metrics
	// Encoded bounds what is kept of encoded objects.
	Encoded *cache.Budget
	// WatchRecheck is how often the access of open watches is checked again.
	WatchRecheck time.Duration
	Drain        Drain
	// CompressWatches compresses all watches for those who take it, not only
	// streaming lists.
	CompressWatches bool
	// Strict leaves it at the formats that the upstream itself has.
	Strict bool
	// Features are what is served beyond those.
	Features Features
	// DebugHeaders makes responses tell where they come from.
	DebugHeaders bool
}

// Drain is how a gateway ends.
type Drain struct {
	// Delay is how long requests are still taken once the end is announced.
	Delay time.Duration
	// Grace is how long requests may go on after that.
	Grace time.Duration
}

// Gateway serves the API.
type Gateway struct {
	options  Options
	handler  http.Handler
	draining chan struct{}  // closed when watches have to end
	requests sync.WaitGroup // upgraded ones too, which http.Server forgets
	begun    sync.Once
}

// New returns a Gateway.
func New(o Options) *Gateway {
	g := &Gateway{options: o, draining: make(chan struct{})}
	reads := serve.New(serve.Options{
		Resources: o.Resources,
		Access:    o.Access,
		Next:      forward.New(forward.Options{Upstream: o.Upstream, Log: o.Log.Named("forward"), Strict: o.Strict}),
		Recheck:   o.WatchRecheck,
		Draining:  g.draining,
		Grace:     o.Drain.Grace,
		Encoded:   o.Encoded,
		Strict:    o.Strict,
		Features:  o.Features,
		Metrics:   o.Metrics.reads,

		CompressWatches: o.CompressWatches,
	})
	g.handler = chain(reads,
		withInfo, // parse the request, once
		withRecord(o.Log, o.Metrics, o.DebugHeaders), // log and count it when it is over
		o.Access.Authenticator.WithAuthentication,    // who is it
		o.Access.Authorizer.WithImpersonation,        // whom may they act for
	)
	return g
}

// chain puts filters around a handler; the first sees the request first.
func chain(h http.Handler, filters ...func(http.Handler) http.Handler) http.Handler {
	for i := len(filters) - 1; i >= 0; i-- {
		h = filters[i](h)
	}
	return h
}

func withInfo(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The upstream answers what cannot be parsed.
		info, _ := request.Parse(r)
		next.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	})
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	defer g.requests.Done()
	g.handler.ServeHTTP(w, r)
}

// drain ends the watches that are served here.
func (g *Gateway) drain() { g.begun.Do(func() { close(g.draining) }) }

// wait returns when no request is left, or when the context ends.
func (g *Gateway) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		g.requests.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
