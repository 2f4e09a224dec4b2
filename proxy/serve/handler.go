package serve

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
)

// Resources finds the cached resources.
type Resources interface {
	// Lookup returns the cached resource, or nil and the reason why it cannot be served now.
	// A store may start for it on behalf of user, who may read the resource.
	Lookup(r schema.GroupVersionResource, user string) (*resources.CachedResource, string)
}

// Access authorizes reads from the cache.
type Access interface {
	// Allowed reports whether the authenticated caller of r may make the read.
	Allowed(r *http.Request, read *request.Read) bool
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
	// Draining is closed when open watches must end, within half of Grace. Nil never drains.
	Draining <-chan struct{}
	Grace    time.Duration
	// Encoded bounds the memory of encoded and compressed segments, for all resources together; nil
	// keeps none.
	Encoded *cache.Budget
	// CompressWatches compresses every watch whose client accepts it, not only streaming lists.
	CompressWatches bool
	// Strict passes requests for formats that the apiserver itself may not support.
	Strict   bool
	Features Features
	// Metrics counts what is served; nil counts nothing.
	Metrics *Metrics
}

const defaultRecheck = 30 * time.Second

// Features are served even if the apiserver does not support them. The zero value has none.
type Features struct {
	// ShardSelector serves lists and watches with a shardSelector (KEP-5866).
	ShardSelector bool
	// DropManagedFields honours the Accept parameter drop=metadata.managedFields (KEP-5958).
	DropManagedFields bool
	// ETags sets entity tags on gets and lists, and answers If-None-Match with 304.
	ETags bool
}

// Handler serves gets, lists and watches from the watch cache.
type Handler struct{ options Options }

// New returns a Handler.
func New(o Options) *Handler {
	if o.Recheck == 0 {
		o.Recheck = defaultRecheck
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	return &Handler{o}
}

// ServeHTTP implements http.Handler. It panics with http.ErrAbortHandler if a response fails after
// its first byte, so that the client cannot take what it has received for the whole response.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	err := h.read(w, r, info)
	if err == nil {
		return
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(refused.reason)}
		response.Error(w, r, refused.err)
		return
	}
	reason, ok := errors.AsType[passReason](err)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	info.Outcome.Reason = string(reason)
	if small, ok := errors.AsType[delegation](err); ok {
		defer small.done()
	}
	h.options.Next.ServeHTTP(w, h.upstreamRequest(r, info, reason))
}

// read serves the request. An error is a passReason or a *refusal if nothing has been written yet.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	p, err := h.plan(r, info)
	switch {
	case err != nil:
	case p.verb == negotiate.Watch:
		err = h.watch(w, r, p)
	case p.verb == negotiate.Get:
		err = h.get(w, r, p)
	default:
		err = h.list(w, r, p)
	}
	if reason, ok := errors.AsType[passReason](err); ok && h.options.Features.ShardSelector {
		if refused := refuseShard(info, reason); refused != nil {
			return refused
		}
	}
	return err
}
