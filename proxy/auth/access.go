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

// Access decides about cached reads: who may begin one, and who may go on.
type Access struct {
	Authenticator *Authenticator
	Authorizer    *Authorizer
}

// Allowed reports whether the verified caller of r may read what r asks for.
// Errors mean no.
func (a *Access) Allowed(r *http.Request) bool {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	allowed, err := a.Authorizer.decideOn(ctx)
	return err == nil && allowed
}

// StillAllowed reports whether the caller of an open watch is still who they were,
// by credentials that are still good, and still allowed. It returns an error
// if the upstream does not answer.
func (a *Access) StillAllowed(r *http.Request) (bool, error) {
	who, _ := apirequest.UserFrom(r.Context())
	now, _, err := a.Authenticator.identify(r)
	if unanswered(err) {
		return false, err
	}
	if err != nil || now == nil {
		return false, nil
	}
	if request.From(r.Context()).Impersonates || now.GetName() != who.GetName() {
		// Whether the caller may still act for the other is found out when the
		// watch is opened again.
		return false, nil
	}
	return a.Authorizer.decideOn(apirequest.WithUser(r.Context(), now)) // groups may have changed
}

// unanswered tells reviews that could not be made from those that came out
// against the caller.
func unanswered(err error) bool {
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		for _, one := range several.Errors() {
			if unanswered(one) {
				return true
			}
		}
	}
	var transport *url.Error
	var status apierrors.APIStatus
	return errors.As(err, &transport) || errors.As(err, &status) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
