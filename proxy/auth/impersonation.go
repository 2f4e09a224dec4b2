package auth

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// attempt is an impersonation: the request as its sender made it, and what follows.
type attempt struct {
	user   user.Info
	header http.Header
	next   http.HandlerFunc
	failed error             // of a review
	reason string            // of the last decision
	asked  map[[3]string]int // how many names, by verb, resource and subresource
	ahead  context.Context   // of reviews of names that follow
}

type attemptKey struct{}

// attemptFrom returns the attempt by which a request got its user; nil if it got it otherwise.
func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// impersonator applies impersonation headers by the apiserver's own rules.
type impersonator struct {
	authorizer *Authorizer
	changes    *changes
	cpu        *flowcontrol.CPU
	version    func() *version.Info // of the apiserver

	mu          sync.Mutex // guards what follows
	filter      http.Handler
	total       uint64 // changes of access rules that filter has seen
	constrained bool   // the rules of filter
}

// current returns the library's filter. It keeps what it has allowed for 10 seconds, so a change of
// access rules replaces it.
func (i *impersonator) current() http.Handler {
	total, constrained := i.changes.all(), hasConstrainedImpersonation(i.version())
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.filter == nil || i.total != total || i.constrained != constrained {
		filterOf := impersonation.WithImpersonation
		if constrained {
			filterOf = impersonation.WithConstrainedImpersonation
		}
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { attemptFrom(r.Context()).next(w, r) })
		i.filter, i.total, i.constrained = filterOf(next, authorizer.AuthorizerFunc(i.authorize), statusSerializer()), total,
			constrained
	}
	return i.filter
}

// apply calls next with the impersonated user in the context and without the impersonation headers, or
// writes the rejection.
func (i *impersonator) apply(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) *attempt {
	info := request.From(r.Context())
	end, err := i.cpu.Parse(r.Context(), info)
	if err != nil {
		return &attempt{failed: err}
	}
	info.ParseName() // constrained impersonation can be allowed for one object
	end()
	u, _ := apirequest.UserFrom(r.Context())
	ahead, decided := context.WithCancel(r.Context())
	defer decided()
	a := &attempt{user: u, header: r.Header, asked: map[[3]string]int{}, ahead: ahead}
	a.next = func(w http.ResponseWriter, r *http.Request) {
		decided()
		next(w, r)
	}
	i.current().ServeHTTP(w, withOwnHeader(r.WithContext(context.WithValue(r.Context(), attemptKey{}, a))))
	return a
}

// user returns the user that r, by its headers, impersonates, or nil if that is not allowed. The error
// means that it could not be reviewed.
func (i *impersonator) user(r *http.Request) (got user.Info, err error) {
	a := i.apply(response.Nowhere{}, r,
		func(_ http.ResponseWriter, r *http.Request) { got, _ = apirequest.UserFrom(r.Context()) })
	if got == nil {
		return nil, a.failed
	}
	return got, nil
}

// WithImpersonation is a filter that authorizes and applies the impersonation headers of ClientCert
// callers: next sees the impersonated user. Impersonation headers of other callers are forwarded, and
// the apiserver applies them; Access applies them to reads from the cache.
func (a *Authorizer) WithImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		if info.Caller != request.ClientCert || !info.Impersonates {
			next.ServeHTTP(w, r)
			return
		}
		a.impersonate(w, r, info, next)
	})
}

// impersonate authorizes and applies the impersonation headers of r.
func (a *Authorizer) impersonate(w http.ResponseWriter, r *http.Request, info *request.Info, next http.Handler) {
	// The library writes the rejection itself, so set what describes it first.
	info.Outcome.Source, info.Decision.Verdict = request.SourceGateway, request.Forbid
	rejection := &heldResponse{header: http.Header{}}
	response.Headers(rejection.Header(), info)
	attempt := a.impersonator.apply(rejection, r, func(_ http.ResponseWriter, r *http.Request) {
		rejection = nil
		info.Decision = request.Decision{}
		info.Impersonated, _ = apirequest.UserFrom(r.Context())
		next.ServeHTTP(w, r)
	})
	switch {
	case rejection == nil:
	case attempt.failed != nil:
		info.Decision = request.Decision{} // nobody has decided
		response.Error(w, r, errNotReviewed)
	default:
		info.Decision.Reason = attempt.reason
		rejection.writeTo(w)
	}
}

// errNotReviewed is the response to a caller whose impersonation could not be reviewed. The error of the
// review is about Sluice, which the caller need not know.
var errNotReviewed = response.NewUnavailable(message.NotReviewed.Say())

// heldResponse is a short response that is held until it is known whether it is to be sent.
type heldResponse struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *heldResponse) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *heldResponse) WriteHeader(code int) { h.code = code }

// Write implements http.ResponseWriter.
func (h *heldResponse) Write(p []byte) (int, error) { return h.body.Write(p) }

// writeTo sends the response.
func (h *heldResponse) writeTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), h.header)
	w.WriteHeader(cmp.Or(h.code, http.StatusOK))
	_, _ = h.body.WriteTo(w)
}

// statusSerializer encodes the Status objects with which the library rejects requests, in every encoding of the
// gateway's own errors.
func statusSerializer() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return serializer.NewCodecFactory(scheme, serializer.WithSerializer(cbor.NewSerializerInfo)).WithoutConversion()
}
