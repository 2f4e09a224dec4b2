package auth

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"sluice/proxy/request"
)

const (
	// DefaultTokenTTL is how long a verified or refused token is remembered.
	DefaultTokenTTL = 10 * time.Second
	// reviewTimeout bounds one TokenReview.
	reviewTimeout = 10 * time.Second
)

// AuthenticatorOptions sets up an Authenticator.
type AuthenticatorOptions struct {
	// Reviews is the upstream's TokenReview API.
	Reviews authenticationclient.AuthenticationV1Interface
	// TokenTTL is how long the result for a token is kept; 0 means
	// DefaultTokenTTL.
	TokenTTL time.Duration
	// ClientCA verifies client certificates; nil takes none.
	ClientCA dynamiccertificates.CAContentProvider
}

// Authenticator finds out who a request is from.
type Authenticator struct {
	certificates authenticator.Request // nil if none are taken
	tokens       authenticator.Request
}

// NewAuthenticator returns an Authenticator.
func NewAuthenticator(o AuthenticatorOptions) *Authenticator {
	ttl := o.TokenTTL
	if ttl == 0 {
		ttl = DefaultTokenTTL
	}
	tokens := cache.New(reviewer{o.Reviews.TokenReviews()}, false, ttl, ttl)
	a := &Authenticator{
		tokens: group.NewAuthenticatedGroupAdder(union.New(bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))),
	}
	if o.ClientCA != nil {
		a.certificates = group.NewAuthenticatedGroupAdder(x509.NewDynamic(o.ClientCA.VerifyOptions, x509.CommonNameUserConversion))
	}
	return a
}

// WithAuthentication makes a handler that knows who calls: it sets Info.Caller and, if
// that is not Unknown, the user in the context. The request is left as it is.
func (a *Authenticator) WithAuthentication(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		// An error means that nobody is known: the upstream gets the request
		// and tells the caller.
		if who, caller, err := a.identify(r); err == nil && who != nil {
			info.Caller, info.User = caller, who.GetName()
			r = r.WithContext(apirequest.WithUser(r.Context(), who))
		}
		next.ServeHTTP(w, r)
	})
}

// identify verifies the request's credentials, certificates first as the
// apiserver does. Without any that are good it returns no user, and the error
// if there is one.
func (a *Authenticator) identify(r *http.Request) (user.Info, request.Caller, error) {
	if a.certificates != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		if resp, ok, err := a.certificates.AuthenticateRequest(r); ok && err == nil {
			return resp.User, request.ClientCert, nil
		}
	}
	if r.Header.Get("Authorization") == "" && r.Header.Get("Sec-Websocket-Protocol") == "" {
		return nil, request.Unauthenticated, nil
	}
	// The authenticators take what they verify out of the headers.
	probe := *r
	probe.Header = r.Header.Clone()
	resp, ok, err := a.tokens.AuthenticateRequest(&probe)
	if !ok || err != nil {
		return nil, request.Unauthenticated, err
	}
	return resp.User, request.BearerToken, nil
}
