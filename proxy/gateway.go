package proxy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"sluice/cache"
	"sluice/config"
	"sluice/proxy/auth"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/forward"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/proxy/upstream"
)

// Features are optional API features that Sluice serves although the apiserver may lack them.
type Features = serve.Features

// Options configures a Gateway. Upstream, Access, Resources, Limits, Log and Metrics are required.
type Options struct {
	Upstream  *upstream.Upstream
	Access    *auth.Access
	Resources *resources.Registry
	Log       *zap.Logger
	Metrics   *Metrics
	// Encoded limits the memory for encoded objects, over all resources.
	Encoded *cache.Budget
	// Limits bounds what callers may use. It must have its defaults.
	Limits config.Limits
	// WatchRecheck is the interval at which the access of open watches is checked again.
	WatchRecheck time.Duration
	Drain        Drain
	// ForwardLimits bounds the requests in flight to the apiserver.
	ForwardLimits forward.Limits
	// CompressWatches compresses every watch whose client accepts it, not only streaming lists.
	CompressWatches bool
	// Strict serves only the formats that the apiserver itself supports.
	Strict bool
	// Features are enabled one by one.
	Features Features
	// DebugHeaders adds the header Sluice-Source to responses.
	DebugHeaders bool
}

// Drain configures graceful shutdown, which takes at most Delay + Grace + 5 seconds.
type Drain struct {
	// Delay is how long requests are still accepted after shutdown has begun, so that load balancers
	// have time to see that the process is not ready.
	Delay time.Duration
	// Grace is how long requests may run after Delay; then they are cut.
	Grace time.Duration
}

// Gateway serves the Kubernetes API.
type Gateway struct {
	options     Options
	handler     http.Handler
	connections *flowcontrol.Connections
	control     *flowcontrol.Control
	draining    chan struct{} // closed when watches must end
	drain       sync.Once
	requests    sync.WaitGroup // includes upgraded connections, which http.Server does not track
}

// New returns a Gateway that is ready to serve.
func New(o Options) *Gateway {
	g := &Gateway{options: o, draining: make(chan struct{})}
	g.connections = flowcontrol.NewConnections(flowcontrol.Limit(o.Limits.Connections))
	g.control = flowcontrol.New(flowOptions(&o.Limits))
	var transcoder *transcode.Transcoder
	if !o.Strict {
		transcoder = transcode.New(transcode.Options{})
	}
	reads := serve.New(serve.Options{
		Resources: o.Resources,
		Access:    o.Access,
		Next: forward.New(forward.Options{
			Upstream: o.Upstream, Log: o.Log.Named("forward"), Metrics: o.Metrics.forwarded, Limits: o.ForwardLimits,
			Rejected: o.Access.Authenticator.Forget, Transcoder: transcoder,
		}),
		Recheck:  o.WatchRecheck,
		Draining: g.draining,
		Grace:    o.Drain.Grace,
		Encoded:  o.Encoded,
		Strict:   o.Strict,
		Features: o.Features,
		Metrics:  o.Metrics.reads,

		CompressWatches: o.CompressWatches,
	})
	g.handler = chain(reads,
		withRequestInfo, // parses the request, once
		withAccessLog(o.Log, o.Metrics, o.DebugHeaders),
		withHeaderLimit(o.Limits.HeaderFields),
		withValidation(o.Upstream), // rejects requests of two meanings, before they cost anything
		o.Access.Authenticator.WithAuthentication,
		g.control.WithFlowControl,
		o.Access.Authorizer.WithImpersonation,
	)
	return g
}

// chain wraps a handler in filters; the first filter sees the request first.
func chain(h http.Handler, filters ...func(http.Handler) http.Handler) http.Handler {
	for i := len(filters) - 1; i >= 0; i-- {
		h = filters[i](h)
	}
	return h
}

func withRequestInfo(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A request that cannot be parsed is forwarded; the apiserver rejects it.
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

// endWatches makes the watches that are served from the cache end, over half of the grace period.
func (g *Gateway) endWatches() { g.drain.Do(func() { close(g.draining) }) }

// wait returns when no request is running, or the context's error when it ends first.
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
