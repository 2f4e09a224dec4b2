package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	apix509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/upstream"
)

// AuthenticatorOptions configures an Authenticator. Each way to authenticate can be off.
type AuthenticatorOptions struct {
	// Reviews creates TokenReviews; nil verifies no tokens.
	Reviews Reviewer
	// Audiences are the audiences for one of which a token must be valid; none means the apiserver's.
	Audiences []string
	// TokenTTL is how long the result of a TokenReview is kept, positive or negative; required.
	TokenTTL time.Duration
	// Queue bounds the TokenReviews that run at the same time. Its reserved places are for tokens that were valid lately;
	// required.
	Queue *limits.Queue
	// Memory is the memory of the process in bytes, of which a part is for results; 0 means little.
	Memory int64
	// Unauthenticated counts the memory of requests while their tokens are reviewed; nil counts nothing.
	Unauthenticated *limits.Ledger
	// ClientCA returns the CA of client certificates, another pool after each change; nil ignores them.
	ClientCA func() *x509.CertPool
	// FrontProxy names the front proxies whose headers name the caller; nil trusts none.
	FrontProxy *FrontProxy
	// Anonymous authenticates requests without credentials as system:anonymous. The apiserver must do
	// the same.
	Anonymous bool
	// Metrics counts the reviews; nil counts nothing.
	Metrics *Metrics
}

// FrontProxy is a proxy that authenticates callers and names them in headers, as the flags
// --requestheader-* of kube-apiserver describe it.
type FrontProxy struct {
	// CA returns the CA of the client certificate of the proxy.
	CA func() *x509.CertPool
	// Names are the common names that the certificate may have; none means any.
	Names []string
	// Headers are the headers with the user.
	Headers upstream.HeaderNames
}

// Authenticator verifies the credentials of requests.
type Authenticator struct {
	options AuthenticatorOptions
	tokens  *tokens // nil if tokens are not verified
	byToken authenticator.Request
}

// NewAuthenticator returns an Authenticator.
func NewAuthenticator(o AuthenticatorOptions) *Authenticator {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	a := &Authenticator{options: o}
	if o.Reviews != nil {
		a.tokens = &tokens{
			create: o.Reviews, audiences: o.Audiences,
			reviews: newReviews[*authenticator.Response](o.Queue, o.Metrics.reviews("token"), o.Memory),
		}
		a.SetTokenTTL(o.TokenTTL)
		a.byToken = group.NewAuthenticatedGroupAdder(union.New(bearertoken.New(a.tokens), websocket.NewProtocolAuthenticator(a.tokens)))
	}
	return a
}

// SetTokenTTL changes how long the results of TokenReviews are kept. Those that are kept already stay for
// their old time.
func (a *Authenticator) SetTokenTTL(ttl time.Duration) {
	if a.tokens != nil {
		a.tokens.ttl.Store(int64(ttl))
	}
}

// errCertificate is returned for a client certificate that proves nothing, without a token beside it.
var errCertificate = errors.New("the client certificate is not valid")

// WithAuthentication is a filter that authenticates requests. It sets Info.Caller and, if it knows the
// user, Info.User and the user in the context, or Info.ReviewAgain. The headers with credentials are kept, because they are
// forwarded; withPlainToken says which change. A request with errCertificate is answered with 401, as by the apiserver, which
// would not see the certificate of a forwarded request and take the caller for anonymous.
func (a *Authenticator) WithAuthentication(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		r = withPlainToken(r, info)
		u, caller, err := a.authenticate(r.WithContext(withStale(r.Context(), info)))
		if u == nil && r.ProtoMajor == 2 && r.Header.Get("Authorization") != "" && !unavailable(err) {
			limits.EndUnauthenticated(w, r) // the token was rejected; the apiserver ends such connections, too
		}
		switch {
		case errors.Is(err, errCertificate):
			info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: "invalid-certificate"}
			response.Error(w, r, apierrors.NewUnauthorized("Unauthorized"))
			return
		case errors.Is(err, errToken):
			info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: "token-too-long"}
			limits.EndUnauthenticated(w, r)
			response.Error(w, r, apierrors.NewUnauthorized(message.LongToken.Say()))
			return
		case refusal(err) != nil:
			flowcontrol.Refuse(w, r, refusal(err))
			return
		case err == nil && u != nil:
			info.Caller, info.User, info.Acting = caller, u.GetName(), u
			request.SetContext(r, apirequest.WithUser(r.Context(), u))
		case unavailable(err):
			info.ReviewAgain = a.reviewAgain(r.Clone(r.Context()))
		}
		// On another error the caller stays Unauthenticated; the apiserver gets the request and responds.
		next.ServeHTTP(w, r)
	})
}

// withPlainToken moves a token from Sec-WebSocket-Protocol to Authorization, if the request may not switch protocols and has no
// Authorization. The upgrade headers of such a request are not forwarded, and without them the apiserver ignores tokens in
// subprotocols: it would take the caller for somebody else than Sluice does.
func withPlainToken(r *http.Request, info *request.Info) *http.Request {
	const subprotocol, bearer = "Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io."
	if info.Upgrade || !strings.Contains(strings.Join(r.Header[subprotocol], ","), bearer) {
		return r
	}
	tokens := tokensOf(r)
	r = withOwnHeader(r)
	delete(r.Header, subprotocol)
	if len(r.Header["Authorization"]) == 0 && len(tokens) == 1 &&
		httpguts.ValidHeaderFieldValue(tokens[0]) && !strings.Contains(tokens[0], " ") {
		r.Header.Set("Authorization", "Bearer "+tokens[0])
	}
	return r
}

// reviewAgain returns a function that reports whether the token in r can be reviewed now.
func (a *Authenticator) reviewAgain(r *http.Request) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, _, err := a.authenticate(r.WithContext(ctx))
		return !unavailable(err)
	}
}

// authenticate verifies the credentials of r in the order of the apiserver: front-proxy headers, client
// certificate, token. It returns a nil user if none are valid, with the error of the TokenReview if
// that failed, or with errCertificate.
func (a *Authenticator) authenticate(r *http.Request) (user.Info, request.Caller, error) {
	presented := r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && (a.options.ClientCA != nil || a.options.FrontProxy != nil)
	if presented {
		if u := a.byCertificate(r); u != nil {
			return u, request.ClientCert, nil
		}
	}
	if r.Header.Get("Authorization") != "" || r.Header.Get("Sec-Websocket-Protocol") != "" {
		u, err := a.authenticateToken(r)
		switch {
		case u != nil:
			return u, request.BearerToken, nil
		case err != nil || len(tokensOf(r)) > 0:
			return nil, request.Unauthenticated, err
		}
	}
	switch {
	case presented:
		return nil, request.Unauthenticated, errCertificate
	case a.options.Anonymous:
		return anonymous, request.Unauthenticated, nil
	}
	return nil, request.Unauthenticated, nil
}

// anonymous is the user of requests without credentials.
var anonymous = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

// byCertificate returns the user that the client certificate names or, if it is the certificate of a
// front proxy, the one that the headers name; nil if there is none.
func (a *Authenticator) byCertificate(r *http.Request) user.Info {
	c, certificates := connectionFrom(r.Context()), r.TLS.PeerCertificates
	if p := a.options.FrontProxy; p != nil {
		_, err := c.verify(&c.frontProxy, certificates, p.CA())
		if err == nil && (len(p.Names) == 0 || slices.Contains(p.Names, certificates[0].Subject.CommonName)) {
			if u := p.Headers.UserOf(r.Header); u != nil {
				return withAuthenticated(u)
			}
		}
	}
	if a.options.ClientCA == nil {
		return nil
	}
	chains, err := c.verify(&c.clientCA, certificates, a.options.ClientCA())
	if err != nil {
		return nil
	}
	for _, chain := range chains {
		if resp, ok, err := apix509.CommonNameUserConversion(chain); ok && err == nil {
			return withAuthenticated(resp.User)
		}
	}
	return nil
}

// withAuthenticated returns a user with the group of all authenticated users.
func withAuthenticated(u user.Info) user.Info {
	resp, _, _ := group.NewAuthenticatedGroupAdder(authenticator.RequestFunc(
		func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: u}, true, nil
		},
	)).AuthenticateRequest(nil)
	return resp.User
}

// authenticateToken returns the user of the token in r; nil if it is not valid.
func (a *Authenticator) authenticateToken(r *http.Request) (user.Info, error) {
	if a.tokens == nil {
		return nil, nil
	}
	// The authenticators delete the headers that they have verified.
	address := limits.ByAddress(r.RemoteAddr)
	b := bearer{
		caller: address, bytes: limits.RequestBytes(r), request: request.Lookup(r.Context()),
		account: limits.Account{Ledger: a.options.Unauthenticated, Caller: address},
	}
	if user, known := limits.CallerOf(r.Context()); known {
		b.caller = user
	}
	r = r.WithContext(context.WithValue(r.Context(), bearerKey{}, b))
	r.Header = maps.Clone(r.Header)
	resp, ok, err := a.byToken.AuthenticateRequest(r)
	if !ok || err != nil {
		return nil, err
	}
	return resp.User, nil
}

// Forget drops the results of the TokenReviews of the tokens in r. It is called when the apiserver has
// rejected them: they may have been revoked.
func (a *Authenticator) Forget(r *http.Request) {
	if a.tokens == nil {
		return
	}
	for _, token := range tokensOf(r) {
		a.tokens.reviews.forget(tokenDigest(token))
	}
}

// tokensOf returns the tokens that the apiserver finds in r: not every header that may have one does.
func tokensOf(r *http.Request) (found []string) {
	find := authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		found = append(found, token)
		return nil, false, nil
	})
	_, _, _ = union.New(bearertoken.New(find), websocket.NewProtocolAuthenticator(find)).AuthenticateRequest(withOwnHeader(r))
	return found
}

// withOwnHeader returns a copy of r whose headers can be set and deleted.
func withOwnHeader(r *http.Request) *http.Request {
	c := *r
	c.Header = maps.Clone(r.Header)
	return &c
}

// causes returns the errors of which err is made: several authenticators may have failed.
func causes(err error) []error {
	if several, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		return several.Errors()
	}
	return []error{err}
}

// refusal returns the error for a caller that may hold no more, if no review was made for that reason.
func refusal(err error) error {
	for _, cause := range causes(err) {
		if refused, ok := errors.AsType[*limits.Refused](cause); ok {
			return refused
		}
	}
	return nil
}

// unavailable reports whether err means that a review could not be made, rather than that the caller
// was rejected.
func unavailable(err error) bool {
	return slices.ContainsFunc(causes(err), func(cause error) bool {
		_, failed := errors.AsType[*reviewError](cause)
		return failed
	}) || refusal(err) != nil
}
