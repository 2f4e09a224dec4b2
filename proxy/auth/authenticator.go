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
	// DefaultTokenTTL is how long the result of a TokenReview is cached, positive or negative.
	DefaultTokenTTL = 10 * time.Second
	// reviewTimeout bounds one TokenReview.
	reviewTimeout = 10 * time.Second
)

// AuthenticatorOptions configures an Authenticator.
type AuthenticatorOptions struct {
	// Reviews is the apiserver's TokenReview API.
	Reviews authenticationclient.AuthenticationV1Interface
	// TokenTTL is how long the result of a TokenReview is cached; 0 means DefaultTokenTTL.
	TokenTTL time.Duration
	// ClientCA verifies client certificates; nil ignores all client certificates.
	ClientCA dynamiccertificates.CAContentProvider
}

// Authenticator verifies the credentials of requests.
type Authenticator struct {
	certificates authenticator.Request // nil without a client CA
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

// WithAuthentication is a filter that authenticates requests. It sets Info.Caller and, unless that is
// Unauthenticated, Info.User and the user in the context. It does not change the request's headers:
// a forwarded request needs them.
func (a *Authenticator) WithAuthentication(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		// On an error the caller stays Unauthenticated; the apiserver gets the request and responds.
		if u, caller, err := a.authenticate(r); err == nil && u != nil {
			info.Caller, info.User = caller, u.GetName()
			r = r.WithContext(apirequest.WithUser(r.Context(), u))
		}
		next.ServeHTTP(w, r)
	})
}

// authenticate verifies the credentials of r, client certificates first, as the apiserver does. It
// returns a nil user if none are valid, with the error of the TokenReview if that failed.
func (a *Authenticator) authenticate(r *http.Request) (user.Info, request.Caller, error) {
	if a.certificates != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		if resp, ok, err := a.certificates.AuthenticateRequest(r); ok && err == nil {
			return resp.User, request.ClientCert, nil
		}
	}
	if r.Header.Get("Authorization") == "" && r.Header.Get("Sec-Websocket-Protocol") == "" {
		return nil, request.Unauthenticated, nil
	}
	// The authenticators delete the headers that they have verified.
	probe := *r
	probe.Header = r.Header.Clone()
	resp, ok, err := a.tokens.AuthenticateRequest(&probe)
	if !ok || err != nil {
		return nil, request.Unauthenticated, err
	}
	return resp.User, request.BearerToken, nil
}
