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
	// DefaultAllowTTL is how long an allowed access is cached.
	DefaultAllowTTL = 10 * time.Second
	// DefaultDenyTTL is how long a denied access is cached.
	DefaultDenyTTL = 5 * time.Second
)

// AuthorizerOptions configures an Authorizer. A zero duration means the default.
type AuthorizerOptions struct {
	// Reviews is the apiserver's SubjectAccessReview API.
	Reviews authorizationclient.AuthorizationV1Interface
	// AllowTTL and DenyTTL are how long the results of reviews are cached.
	AllowTTL, DenyTTL time.Duration
}

// Authorizer decides whether an authenticated caller may make a request.
type Authorizer struct {
	reviews authorizer.Authorizer
}

// NewAuthorizer returns an Authorizer.
func NewAuthorizer(o AuthorizerOptions) (*Authorizer, error) {
	if o.AllowTTL == 0 {
		o.AllowTTL = DefaultAllowTTL
	}
	if o.DenyTTL == 0 {
		o.DenyTTL = DefaultDenyTTL
	}
	reviews, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: o.Reviews,
		AllowCacheTTL:             o.AllowTTL,
		DenyCacheTTL:              o.DenyTTL,
		WebhookRetryBackoff:       noRetry(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorizer: %w", err)
	}
	return &Authorizer{reviews: reviews}, nil
}

// noRetry is the backoff of a single attempt: the caller is waiting, and its client retries.
func noRetry() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1, Steps: 1}
}

// authorize reports whether the user in ctx may make the request in ctx, with exactly its verb,
// resource, namespace, name and selectors.
func (a *Authorizer) authorize(ctx context.Context) (bool, error) {
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil || attributes.GetUser() == nil {
		return false, err
	}
	decision, _, err := a.reviews.Authorize(ctx, attributes)
	return decision == authorizer.DecisionAllow, err
}

// WithImpersonation is a filter that authorizes and applies the impersonation headers of ClientCert
// callers by the apiserver's own rules (KEP-5284): next sees the impersonated user. Impersonation
// headers of other callers are forwarded, and the apiserver applies them.
func (a *Authorizer) WithImpersonation(next http.Handler) http.Handler {
	allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response.ClearHeaders(w.Header())
		next.ServeHTTP(w, r)
	})
	impersonated := impersonation.WithConstrainedImpersonation(allowed, a.reviews, statusSerializer())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		if info.Caller != request.ClientCert || !info.Impersonates {
			next.ServeHTTP(w, r)
			return
		}
		// The library writes the rejection itself, so set what describes it first.
		info.Outcome.Source = request.SourceGateway
		response.Headers(w.Header(), info)
		impersonated.ServeHTTP(w, r)
	})
}

// statusSerializer encodes the Status objects with which the library rejects requests.
func statusSerializer() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}
