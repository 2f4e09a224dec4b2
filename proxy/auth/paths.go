package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"sluice/proxy/message"
)

// WithPathAccess is a filter for paths of Sluice itself, such as /metrics: it serves callers that
// may use them as paths of no resource (nonResourceURLs of a role), as Kubernetes components do.
// The others get 401 or 403, and 503 if a review cannot be made: while the apiserver cannot be asked, the last results count
// as for reads of any version. Impersonation has no effect.
func (a *Access) WithPathAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := a.pathAccess(r); code != http.StatusOK {
			http.Error(w, pathMessages[code].Say(), code)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// pathMessages say why a path of Sluice itself is not served, by the code.
var pathMessages = map[int]message.Message{
	http.StatusUnauthorized: message.NotLogged, http.StatusForbidden: message.NotGranted,
	http.StatusServiceUnavailable: message.NotReviewed,
}

// pathAccess returns the code of the response, 200 if the caller has access.
func (a *Access) pathAccess(r *http.Request) (code int) {
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), staleKey{}, true), 2*reviewTimeout)
	defer cancel()
	u, _, err := a.Authenticator.authenticate(r.WithContext(ctx))
	if unavailable(err) {
		return http.StatusServiceUnavailable
	}
	if err != nil || u == nil {
		return http.StatusUnauthorized
	}
	decision, _, err := a.Authorizer.Authorize(ctx,
		authorizer.AttributesRecord{User: u, Verb: strings.ToLower(r.Method), Path: r.URL.Path})
	var failed *reviewError
	switch {
	case errors.As(err, &failed):
		return http.StatusServiceUnavailable
	case err != nil || decision != authorizer.DecisionAllow:
		return http.StatusForbidden
	}
	return http.StatusOK
}
