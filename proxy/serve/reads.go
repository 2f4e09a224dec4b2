package serve

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
)

// Resources is where the cached resources are.
type Resources interface {
	// Collection returns a resource's collection, or nil and why there is
	// none.
	Lookup(r schema.GroupVersionResource) (*resources.CachedResource, string)
}

// Access decides who may read.
type Access interface {
	// Allowed reports whether the verified caller of r may read what it asks
	// for.
	Allowed(r *http.Request) bool
	// StillAllowed reports whether the caller of an open watch is still who they
	// were and still allowed. An error means that this cannot be found out.
	StillAllowed(r *http.Request) (bool, error)
}

// Options sets up a Handler.
type Options struct {
	Resources Resources
	Access    Access
	// Next takes what is not served here.
	Next http.Handler
	// Recheck is how often the access of an open watch is checked again.
	Recheck time.Duration
	// Draining is closed when watches have to end, spread over Grace.
	Draining <-chan struct{}
	Grace    time.Duration
	// Encoded bounds what is kept of encoded objects, for all collections; nil
	// keeps nothing.
	Encoded *cache.Budget
	// CompressWatches compresses all watches, not only streaming lists.
	CompressWatches bool
	// Strict refuses formats that the upstream itself may not have.
	Strict   bool
	Features Features
	Metrics  *Metrics
}

// Features are what is served though the upstream may not have it. The zero
// value has none of them.
type Features struct {
	// ShardSelector serves lists and watches with shardSelector (KEP-5866).
	ShardSelector bool
	// DropManagedFields honours drop=metadata.managedFields in Accept
	// (KEP-5958).
	DropManagedFields bool
	// ETags gives lists and gets entity tags, and answers 304 by them.
	ETags bool
}

// Handler serves gets, lists and watches out of the cache.
type Handler struct{ options Options }

// New returns a Handler.
func New(o Options) *Handler { return &Handler{o} }

// The reasons why a request is passed, beside those of the mirror.
const (
	reasonNotARead      = "not-a-read"
	reasonUnknownCaller = "unknown-caller"
	reasonImpersonation = "impersonation"
	reasonOptions       = "options"
	reasonGetMostRecent = "get-latest"
	reasonNotAllowed    = "not-allowed"
	reasonScope         = "wrong-scope"
	reasonFormat        = "format"
	reasonAhead         = "version-not-reached"
	reasonHistory       = "version-before-history"
	reasonDelegated     = "small-read"
	reasonUnproven      = "not-proven-in-time"
)

// How a read came to be served.
const (
	servedAny    = "any-version"  // any version was good enough
	servedPast   = "past-version" // a version that was kept
	servedFresh  = "up-to-date"   // the store was at the present already
	servedWaited = "own-watch"    // the store's own stream proved it
	servedChased = "probe-watch"  // a chaser proved it
)

func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	p, reason := s.plan(r, info)
	switch {
	case reason != "":
	case p.refusal != nil:
		info.Outcome.Source = request.SourceGateway
		response.Error(w, r, p.refusal)
	case p.verb == negotiate.Watch:
		reason = s.watch(w, r, p)
	case p.verb == negotiate.Get:
		reason = s.get(w, r, p)
	default:
		reason = s.list(w, r, p)
	}
	if reason != "" && !s.withheld(w, r, p, reason) {
		info.Outcome.Reason = reason
		s.options.Next.ServeHTTP(w, s.passed(r, info))
	}
}

// passed is the request as the upstream is to get it: unless Sluice is strict,
// lists as metadata are to be had, wherever from.
func (s *Handler) passed(r *http.Request, info *request.Info) *http.Request {
	accept := r.Header.Get("Accept")
	asked := negotiate.ListAccept(accept)
	if s.options.Strict || info.Verb != "list" || asked == accept {
		return r
	}
	r = r.Clone(r.Context())
	r.Header["Accept"][0] = asked
	return r
}

// begin notes that the answer comes out of the cache and sets its headers.
func (p *plan) begin(h http.Header, how string) {
	p.info.Outcome = request.Outcome{
		Source: request.SourceCache, Reason: how, Format: p.encoder.Format().Encoding.String(),
	}
	response.Headers(h, p.info)
	setTag(h, p.tag)
	h["Warning"] = p.warnings()
	h.Set("Content-Type", p.encoder.ContentType(p.verb == negotiate.Watch))
}

// staleAfter is from when on an answer warns that the upstream is away.
const staleAfter = 30 * time.Second

// warnings are the upstream's own, and one of Sluice's while the upstream cannot
// be reached: what allows any age is served then, but not in silence.
func (p *plan) warnings() []string {
	own := p.collection.Warnings
	away := p.collection.DisconnectedFor()
	if away < staleAfter {
		return own
	}
	text := fmt.Sprintf("299 - %q", fmt.Sprintf("the apiserver has not been reachable for %v; this state may be as old", away.Truncate(time.Second)))
	return append(slices.Clone(own), text)
}
