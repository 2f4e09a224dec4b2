package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/codec/negotiate"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
)

// Resources finds the cached resources.
type Resources interface {
	// Lookup returns the cached resource, or nil and the reason why it cannot be served now.
	// A store may start for it on behalf of the reader, whose read must have been authorized.
	Lookup(r schema.GroupVersionResource, reader resources.Reader) (*resources.CachedResource, string)
	// Peek returns the cached resource if it can be served now, or nil. It starts no store.
	Peek(r schema.GroupVersionResource) *resources.CachedResource
	// Discarded reports whether a client that watches from version may have a state of a history that the
	// apiserver has discarded.
	Discarded(ctx context.Context, r schema.GroupVersionResource, version uint64) bool
	// Progress tells how far the store of a resource is.
	Progress(r schema.GroupVersionResource) resources.Progress
}

// Access authorizes reads from the cache.
type Access interface {
	// MayRead reports whether the authenticated caller of r may make the read. An error means that the
	// apiserver could not be asked.
	MayRead(r *http.Request, read *request.Read) (bool, error)
	// Recall reports whether the authenticated caller of r is known to be allowed the read. If the
	// apiserver answers r with 200, learn must be called.
	Recall(r *http.Request, read *request.Read) (allowed bool, learn func())
	// StillAllowed returns why the open watch r must end: its credentials are no longer valid for the
	// same user, or this user may no longer make the read; nil if neither is so. An error means that
	// the apiserver could not be asked.
	StillAllowed(r *http.Request, read *request.Read) (denied *apierrors.StatusError, err error)
	// Notify calls f, which must not block, whenever access of r to what read selects may have
	// changed, until stop is called.
	Notify(r *http.Request, read *request.Read, f func()) (stop func())
}

// Options sets up a Handler.
type Options struct {
	Resources Resources
	Access    Access
	// Next forwards the requests that are not served from the cache.
	Next http.Handler
	// Recheck is the longest time between two checks of the access of an open watch; 0 means 30
	// seconds.
	Recheck time.Duration
	// Draining is closed when open watches must end, spread over the time that Spread returns. Nil never
	// drains.
	Draining <-chan struct{}
	Spread   func() time.Duration
	// Encoded bounds the memory of encoded and compressed segments, for all resources together; nil
	// keeps none.
	Encoded *tree.Budget
	// CompressWatches compresses every watch whose client accepts it, not only streaming lists.
	CompressWatches bool
	// Strict passes requests for formats that the apiserver itself may not support.
	Strict   bool
	Features Features
	// Metrics counts what is served; nil counts nothing.
	Metrics *Metrics
	// CPU shares the processors among users; nil lets everybody work at once.
	CPU *flowcontrol.CPU
	// PassedBytes bounds what the reads that pass although the cache should show them cost the apiserver at
	// the same time, as the length of the objects that they are answered with; 0 bounds nothing.
	PassedBytes int64
	// SlowReaders bounds the memory of responses whose clients read slowly; nil bounds nothing.
	SlowReaders *flowcontrol.SlowReaders
}

const defaultRecheck = 30 * time.Second

// Features are served even if the apiserver does not support them. The zero value has none.
type Features struct {
	// ShardSelector serves lists and watches with a shardSelector (KEP-5866).
	ShardSelector bool
	// DropManagedFields honors the Accept parameter drop=metadata.managedFields (KEP-5958).
	DropManagedFields bool
}

// Handler serves gets, lists and watches from the watch cache.
type Handler struct {
	options Options
	budget  *passBudget

	// The options that may change while the Handler serves.
	recheck         atomic.Int64 // time.Duration
	compressWatches atomic.Bool
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Recheck == 0 {
		o.Recheck = defaultRecheck
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	h := &Handler{options: o, budget: newPassBudget(o.PassedBytes, o.Metrics)}
	h.SetWatches(o.Recheck, o.CompressWatches)
	return h
}

// SetWatches changes the longest time between two checks of the access of a watch, for open watches from
// their next check on, and whether watches are compressed that are opened from now on.
func (h *Handler) SetWatches(recheck time.Duration, compress bool) {
	h.recheck.Store(int64(recheck))
	h.compressWatches.Store(compress)
}

// SetPassedBytes changes Options.PassedBytes for the reads that come from now on.
func (h *Handler) SetPassedBytes(bytes int64) { h.budget.setTotal(bytes) }

// ServeHTTP implements http.Handler. It panics with http.ErrAbortHandler if a response fails after
// its first byte, so that the client cannot take what it has received for the whole response.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, q := request.From(r.Context()), h.newAttempt()
	switch err := h.read(w, r, info, q).(type) {
	case nil:
	case *outcome.Refused:
		info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(err.Reason)}
		response.Error(w, r, err.Err)
	case outcome.Pass:
		h.pass(w, r, info, err, nil)
	case outcome.Forwarded:
		defer q.end()
		defer err.End()
		observed := &statusObserver{w, func(status int) { err.Begun(status); q.claim.begun(status) }}
		h.pass(observed, r, info, err.Pass, q.claim)
	default:
		panic(http.ErrAbortHandler)
	}
}

// pass passes a request that is not served.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, info *request.Info, reason outcome.Pass, c *claim) {
	info.Outcome.Reason = string(reason)
	r = h.upstreamRequest(r, info, reason)
	if info.Verb == "watch" {
		h.passWatch(w, r, info, reason, c)
		return
	}
	h.options.Next.ServeHTTP(w, r)
}

// read serves the request, and tries again what becomes possible meanwhile. An error is a Pass, a
// forwarded or a *refusal if nothing has been written yet.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, info *request.Info, q *attempt) error {
	for {
		p, err := h.try(w, r, info, q)
		if reason, passes := err.(outcome.Pass); passes && p != nil {
			err = h.afford(r.Context(), p, q, reason)
		}
		if _, claims := err.(outcome.Forwarded); !claims {
			q.end()
		}
		if err != errAgain {
			return err
		}
	}
}

// try is read for a request that is tried once.
func (h *Handler) try(w http.ResponseWriter, r *http.Request, info *request.Info, q *attempt) (*plan, error) {
	p, err := h.plan(r, info, q)
	switch {
	case err != nil:
	case p.verb == negotiate.Watch:
		err = h.watch(w, r, p)
	case p.verb == negotiate.Get:
		err = h.get(w, r, p)
	default:
		err = h.list(w, r, p)
	}
	if reason, ok := err.(outcome.Pass); ok && h.options.Features.ShardSelector {
		if refused := refuseShard(info, reason); refused != nil {
			return p, refused
		}
	}
	return p, err
}
