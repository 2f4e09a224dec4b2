package proxy

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/config"
	"sluice/proxy/audit"
	"sluice/proxy/auth"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/forward"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve"
	"sluice/proxy/serve/plan"
	"sluice/proxy/trace"
	"sluice/proxy/upstream"
	"sluice/proxy/why"
)

// Options configures a Gateway. Config, Upstream, Access, Resources, Memory, CPU, Log and Metrics are required.
type Options struct {
	// Config is the configuration file. It must have its defaults.
	Config    *config.File
	Upstream  *upstream.Upstream
	Access    *auth.Access
	Resources *resources.Registry
	Log       *zap.Logger
	Metrics   *Metrics
	// Handshakes counts the TLS handshakes that fail; nil counts none.
	Handshakes *limits.HandshakeMetrics
	// Audit records the requests that the audit log of the apiserver lacks; nil records none.
	Audit *audit.Log
	// Tracer records sampled requests; nil records none.
	Tracer *trace.Tracer
	// Encoded limits the memory for encoded objects, over all resources.
	Encoded *tree.Budget
	// Memory counts the memory of callers.
	Memory *limits.Memory
	// CPU shares the processors.
	CPU *flowcontrol.CPU
}

const (
	// systemPart of the places at the apiserver, as a divisor, is reserved for system callers.
	systemPart = 4
	// unauthenticatedPassing is how many requests of unauthenticated callers pass at a time, each over a connection of its own.
	unauthenticatedPassing = 64
	// passWait is how long a request waits for its place at the apiserver.
	passWait = 10 * time.Second
)

// Gateway serves the Kubernetes API.
type Gateway struct {
	options         Options
	handler         http.Handler
	passing         *limits.Queue // has the places at the apiserver
	unauthenticated *limits.Queue // has those of unauthenticated callers
	reads           *serve.Handler
	draining        chan struct{} // closed when watches must end
	requests        running       // includes upgraded connections, which http.Server does not track
	watches         running

	access accessOptions
	kept   why.Ring
}

// New returns a Gateway that is ready to serve.
func New(o Options) *Gateway {
	g := &Gateway{options: o, draining: make(chan struct{})}
	g.setAccess(o.Config)
	l, strict := &o.Config.Limits, o.Config.Compatibility == config.Strict
	g.passing = limits.NewQueue(l.Seats, l.Seats/systemPart)
	g.unauthenticated = limits.NewQueue(unauthenticatedPassing, 0)
	g.reads = serve.New(serve.Options{
		Resources: o.Resources,
		Access:    o.Access,
		Next: forward.New(forward.Options{
			Upstream: o.Upstream, Log: o.Log.Named("forward"), Queue: g.passing, Unauthenticated: g.unauthenticated, Wait: passWait,
			Rejected: o.Access.Authenticator.Forget, Transcode: !strict, Lasting: o.Memory.PassedBytes,
		}),
		Away:     o.Upstream.Away,
		Recheck:  o.Config.Authorization.WatchRecheck.Duration,
		Draining: g.draining,
		Spread:   g.spread,
		Encoded:  o.Encoded,
		Strict:   strict,
		Features: plan.Features(o.Config.Features),
		Policies: policies(o.Config.Projections),
		Metrics:  o.Metrics.reads,

		CompressWatches: o.Config.Compression.Watches, Queue: g.passing, CPU: o.CPU,
	})
	g.handler = chain(g.reads,
		withRequestInfo, // parses the request, once
		withAccessLog(o.Log, o.Metrics, &g.access, &g.kept),
		withAudit(o.Audit),
		g.withDrain,
		withHeaderLimit(l.HeaderFields),
		withValidation(o.Upstream), // rejects requests of two meanings, before they cost anything
		o.Access.Authenticator.WithAuthentication,
		withTrace(o.Tracer),
		flowcontrol.Admit(o.Memory),
		o.Access.Authorizer.WithImpersonation,
	)
	return g
}

// policies returns the policies of a valid configuration.
func policies(configured []config.Projection) (all []plan.Policy) {
	for _, p := range configured {
		text, _ := p.Text()
		all = append(all, plan.Policy{
			Resource: schema.ParseGroupResource(p.Resource), Caller: p.Callers.Match, Projection: text, Quiet: p.Quiet,
		})
	}
	return all
}

// Reload changes the fields of the configuration that concern the Gateway and have the tag reload.
func (g *Gateway) Reload(file *config.File) {
	l := &file.Limits
	g.passing.SetPlaces(l.Seats, l.Seats/systemPart)
	g.reads.SetWatches(file.Authorization.WatchRecheck.Duration, file.Compression.Watches)
	g.setAccess(file)
}

func (g *Gateway) setAccess(file *config.File) {
	g.access.debugHeaders.Store(file.DebugHeaders)
	g.access.all.Store(file.Log.Requests == config.RequestsAll)
}

// Kept are the last requests.
func (g *Gateway) Kept() *why.Ring { return &g.kept }

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
		request.SetContext(r, request.With(r.Context(), info))
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.enter()
	defer g.requests.leave()
	g.handler.ServeHTTP(w, r)
	end(w, r)
}

// unauthenticatedEnd is how long the end of a refusal may take on an unauthenticated connection: no Ledger counts it.
const unauthenticatedEnd = 2 * time.Second

// end bounds the last write of a response, after the handler has returned, and frees the memory of the request: no Ledger counts
// it from now on.
func end(w http.ResponseWriter, r *http.Request) {
	within := response.WriteTimeout
	info := request.Lookup(r.Context())
	if _, known := limits.CallerOf(r.Context()); !known && info != nil && info.Outcome.Source == request.SourceGateway {
		within = unauthenticatedEnd
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within))
	request.SetContext(r, context.Background()) // which had the request.Info
	if r.ProtoMajor == 2 {
		r.Header, r.RequestURI, r.URL = nil, "", nil // of the server's request, which nobody else has
	}
}
