package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// DefaultAllowTTL is how long an allowed access is remembered.
	DefaultAllowTTL = 10 * time.Second
	// DefaultDenyTTL is how long a denied access is remembered.
	DefaultDenyTTL = 5 * time.Second
)

// AuthorizerOptions sets up an Authorizer. Zero durations mean the defaults.
type AuthorizerOptions struct {
	// Reviews is the upstream's SubjectAccessReview API.
	Reviews           authorizationclient.AuthorizationV1Interface
	AllowTTL, DenyTTL time.Duration
}

// Authorizer decides whether a caller may see what a request asks for.
type Authorizer struct {
	decide authorizer.Authorizer
}

// NewAuthorizer returns an Authorizer.
func NewAuthorizer(o AuthorizerOptions) (*Authorizer, error) {
	if o.AllowTTL == 0 {
		o.AllowTTL = DefaultAllowTTL
	}
	if o.DenyTTL == 0 {
		o.DenyTTL = DefaultDenyTTL
	}
	decide, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: o.Reviews,
		AllowCacheTTL:             o.AllowTTL,
		DenyCacheTTL:              o.DenyTTL,
		WebhookRetryBackoff:       once(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorizer: %w", err)
	}
	return &Authorizer{decide: decide}, nil
}

// once is the back-off of a single attempt: the caller waits for it, and may
// try again.
func once() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1, Steps: 1}
}

// decideOn decides whether the caller in ctx may do what the request in ctx
// asks for: exactly that verb, resource, namespace, name and selector.
func (a *Authorizer) decideOn(ctx context.Context) (bool, error) {
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil || attributes.GetUser() == nil {
		return false, err
	}
	decision, _, err := a.decide.Authorize(ctx, attributes)
	return decision == authorizer.DecisionAllow, err
}

// WithImpersonation makes a handler that honours the impersonation headers of
// Asserted callers, once they are authorized, by the apiserver's own rules
// (KEP-5284): next sees the impersonated user. Those of other callers are left
// to the upstream, which knows the caller by the token.
func (a *Authorizer) WithImpersonation(next http.Handler) http.Handler {
	allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response.ClearHeaders(w.Header())
		next.ServeHTTP(w, r)
	})
	impersonated := impersonation.WithConstrainedImpersonation(allowed, a.decide, statusSerializer())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		if info.Caller != request.ClientCert || !info.Impersonates {
			next.ServeHTTP(w, r)
			return
		}
		// For a refusal, which the library writes by itself.
		info.Outcome.Source = request.SourceGateway
		response.Headers(w.Header(), info)
		impersonated.ServeHTTP(w, r)
	})
}

// statusSerializer encodes the Status objects that the library answers with.
func statusSerializer() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}
