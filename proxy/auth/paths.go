package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/message"
	"sluice/proxy/request"
)

// WithPathAccess is a filter for paths of Sluice itself, such as /metrics: it serves callers who
// may use them as paths of no resource (nonResourceURLs of a role), as Kubernetes components do.
// The others get 401 or 403, and 503 if a review cannot be made. Impersonation has no effect. The context of the request has
// the user, unless it is anonymous.
func (a *Access) WithPathAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, caller, code := a.pathAccess(r)
		if code != http.StatusOK {
			http.Error(w, pathMessages[code].Say(), code)
			return
		}
		if u != anonymous {
			r = r.WithContext(context.WithValue(apirequest.WithUser(r.Context(), u), readerKey{}, Reader{u, caller}))
		}
		next.ServeHTTP(w, r)
	})
}

// Reader is who reads a path of Sluice itself. The zero value has no name.
type Reader struct {
	user.Info
	Caller request.Caller
}

type readerKey struct{}

// ReaderFrom returns who reads a path of Sluice itself.
func ReaderFrom(ctx context.Context) Reader {
	r, _ := ctx.Value(readerKey{}).(Reader)
	return r
}

// pathMessages say why a path of Sluice itself is not served, by the code.
var pathMessages = map[int]message.Message{
	http.StatusUnauthorized: message.NotLogged, http.StatusForbidden: message.NotGranted,
	http.StatusServiceUnavailable: message.NotReviewed,
}

// pathAccess returns the caller and the code of the response, 200 if the caller has access.
func (a *Access) pathAccess(r *http.Request) (u user.Info, caller request.Caller, code int) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*reviewTimeout)
	defer cancel()
	u, caller, err := a.Authenticator.authenticate(r.WithContext(ctx))
	if unavailable(err) {
		return nil, caller, http.StatusServiceUnavailable
	}
	if err != nil || u == nil {
		return nil, caller, http.StatusUnauthorized
	}
	decision, _, err := a.Authorizer.Authorize(ctx,
		authorizer.AttributesRecord{User: u, Verb: strings.ToLower(r.Method), Path: r.URL.Path})
	var failed *reviewError
	switch {
	case errors.As(err, &failed):
		return nil, caller, http.StatusServiceUnavailable
	case err != nil || decision != authorizer.DecisionAllow:
		return nil, caller, http.StatusForbidden
	}
	return u, caller, http.StatusOK
}
