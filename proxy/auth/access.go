package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/request"
)

// Access decides who may read from the cache, and who may keep a watch open.
type Access struct {
	Authenticator *Authenticator
	Authorizer    *Authorizer
}

// Allowed reports whether the authenticated caller of r may make the read r. It returns false if the
// review fails, or takes longer than 10 seconds.
func (a *Access) Allowed(r *http.Request) bool {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	allowed, err := a.Authorizer.authorize(ctx)
	return err == nil && allowed
}

// StillAllowed reports whether the credentials of an open watch are still valid, still identify the
// same user, and still allow the watch. It returns an error if the apiserver does not respond.
func (a *Access) StillAllowed(r *http.Request) (bool, error) {
	before, _ := apirequest.UserFrom(r.Context())
	now, _, err := a.Authenticator.authenticate(r)
	if unavailable(err) {
		return false, err
	}
	if err != nil || now == nil {
		return false, nil
	}
	if request.From(r.Context()).Impersonates || now.GetName() != before.GetName() {
		// End watches of impersonated users: the right to impersonate is checked when the client
		// opens the watch again.
		return false, nil
	}
	return a.Authorizer.authorize(apirequest.WithUser(r.Context(), now)) // groups may have changed
}

// unavailable reports whether err means that a review could not be made, rather than that the caller
// was rejected.
func unavailable(err error) bool {
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		for _, one := range several.Errors() {
			if unavailable(one) {
				return true
			}
		}
	}
	var transport *url.Error
	var status apierrors.APIStatus
	return errors.As(err, &transport) || errors.As(err, &status) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
