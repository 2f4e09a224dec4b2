package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/message"
	"sluice/proxy/request"
)

// Access authorizes reads from the cache, and open watches.
type Access struct {
	Authenticator *Authenticator
	Authorizer    *Authorizer

	some atomic.Pointer[func(user string, groups []string, agent string) bool] // see SetSome
}

// SetStaleFor changes how long the last results are used for reads of any version while the apiserver cannot be asked.
func (a *Access) SetStaleFor(d time.Duration) {
	if a.Authenticator.tokens != nil {
		a.Authenticator.tokens.reviews.staleFor.Store(int64(d))
	}
	a.Authorizer.reviews.staleFor.Store(int64(d))
}

// MayRead reports whether the caller of r, or the user that it impersonates and may impersonate, may
// make the read. The error means that a review has failed, or that the reviews have taken longer than 20 seconds.
func (a *Access) MayRead(r *http.Request, read *request.Read) (bool, error) {
	info := request.From(r.Context())
	ctx, cancel := context.WithTimeout(withStale(r.Context(), info), 2*reviewTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	u, err := a.reader(r)
	if err != nil || u == nil {
		return false, err
	}
	got, why, err := a.review(ctx, u, read)
	if err != nil || got != authorizer.DecisionAllow {
		return false, err
	}
	decided(info, u, why)
	return true, nil
}

// decided takes note of a read that u may make.
func decided(info *request.Info, u user.Info, reason string) {
	info.Decision = request.Decision{Verdict: request.Allow, Reason: reason}
	if info.Impersonates && info.Impersonated == nil {
		info.Impersonated = u
	}
}

// MayWrite reports whether the caller of r may update or patch an object that the read selects, or its status. It is to be called
// after MayRead.
func (a *Access) MayWrite(r *http.Request, read *request.Read) (bool, error) {
	ctx, cancel := context.WithTimeout(withStale(r.Context(), request.From(r.Context())), 2*reviewTimeout)
	defer cancel()
	u, err := a.reader(r.WithContext(ctx))
	if err != nil || u == nil {
		return false, err
	}
	return a.mayWrite(ctx, u, read)
}

// mayWrite asks, for a read across namespaces, for a right in all of them, or in one that the read shows or that RoleBindings propose.
func (a *Access) mayWrite(ctx context.Context, u user.Info, read *request.Read) (bool, error) {
	reads := []*request.Read{read}
	some := read.Namespaces
	if some == nil && read.Across() {
		if a.Authorizer.options.RBAC == nil { // nothing tells in which namespaces it may
			return true, nil
		}
		var more bool
		var err error
		if some, more, err = a.Authorizer.changes.bindings.proposed(u); err != nil || more {
			return more, err
		}
	}
	for _, ns := range some {
		reads = append(reads, read.In(ns))
	}
	var allowed atomic.Bool
	reviews, ctx := errgroup.WithContext(ctx)
	reviews.SetLimit(reviewsOfARead)
	for _, one := range reads {
		reviews.Go(func() error {
			for _, access := range writes {
				if allowed.Load() {
					return nil
				}
				attributes := readAttributes(u, one)
				attributes.Verb, attributes.Subresource = access.verb, access.subresource
				attributes.LabelSelectorRequirements, attributes.FieldSelectorRequirements = nil, nil
				got, _, err := a.Authorizer.Authorize(ctx, attributes)
				if err != nil {
					return err
				}
				if got == authorizer.DecisionAllow {
					allowed.Store(true)
				}
			}
			return nil
		})
	}
	err := reviews.Wait()
	return allowed.Load(), err
}

// writes are the accesses by which a client overwrites fields that it has not seen.
var writes = []struct{ verb, subresource string }{{"update", ""}, {"patch", ""}, {"update", "status"}, {"patch", "status"}}

// Recall reports whether the caller of r is known to be allowed the read, which costs no review. If the
// apiserver answers r with 200, learn keeps that it has allowed the read: a later change of access
// rules invalidates that like the result of a review.
func (a *Access) Recall(r *http.Request, read *request.Read) (allowed bool, learn func()) {
	u, _ := apirequest.UserFrom(r.Context())
	if u == nil || request.From(r.Context()).Impersonates {
		return false, func() {}
	}
	return a.Authorizer.recall(readAttributes(u, read))
}

// reader returns the user in whose name r reads; nil if there is none.
func (a *Access) reader(r *http.Request) (user.Info, error) {
	info := request.From(r.Context())
	if info.Impersonates && attemptFrom(r.Context()) == nil {
		u, err := a.Authorizer.impersonator.user(r)
		if _, refused := errors.AsType[*notAllowed](err); refused {
			return nil, nil
		}
		return u, err
	}
	u, _ := apirequest.UserFrom(r.Context())
	return u, nil
}

// review decides whether u may make the read. Selectors only narrow what a read shows, so a user with the right without any
// has it with all of them: the agents of a DaemonSet, each with the selector of its node, share that review. Only
// users without that right, and nodes, which the apiserver allows pods by their selectors alone, are reviewed with selectors.
func (a *Access) review(ctx context.Context, u user.Info, read *request.Read) (authorizer.Decision, string, error) {
	attributes := readAttributes(u, read)
	if attributes.Name == "" && narrowed(&attributes) && !slices.Contains(u.GetGroups(), user.NodesGroup) {
		whole := attributes
		whole.LabelSelectorRequirements, whole.FieldSelectorRequirements = nil, nil
		got, why, err := a.Authorizer.Authorize(ctx, whole)
		if err != nil || got == authorizer.DecisionAllow {
			return got, why, err
		}
	}
	return a.Authorizer.Authorize(ctx, attributes)
}

func narrowed(a *authorizer.AttributesRecord) bool {
	return len(a.LabelSelectorRequirements)+len(a.FieldSelectorRequirements) > 0
}

// StillAllowed returns a 401 if the credentials of the open watch r no longer identify the same user, a 403 if this user may no
// longer impersonate or make the read, a 410 if the namespaces of the read have changed or the user may write its objects now, and
// otherwise nil. An error means that a review could not be made.
func (a *Access) StillAllowed(r *http.Request, read *request.Read) (*apierrors.StatusError, error) {
	before, _ := apirequest.UserFrom(r.Context())
	r = r.WithContext(context.WithValue(r.Context(), recheckKey{}, true))
	if impersonation := attemptFrom(r.Context()); impersonation != nil {
		before = impersonation.user
		r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, (*attempt)(nil)))
		r.Header = impersonation.header
	}
	now, _, err := a.Authenticator.authenticate(r)
	if unavailable(err) {
		return nil, err
	}
	if err != nil || now == nil || now.GetName() != before.GetName() {
		return apierrors.NewUnauthorized(message.LoggedOut.Say()), nil
	}
	u := now // groups may have changed
	if request.From(r.Context()).Impersonates {
		if u, err = a.reader(r.WithContext(apirequest.WithUser(r.Context(), now))); err != nil {
			return nil, err
		}
	}
	if u == nil {
		return revoked(read), nil
	}
	got, _, err := a.review(r.Context(), u, read)
	if err != nil {
		return nil, err
	}
	switch allowed := got == authorizer.DecisionAllow; {
	case read.Namespaces != nil:
		if denied, err := a.stillSome(r.Context(), u, read, allowed); denied != nil || err != nil {
			return denied, err
		}
	case !allowed:
		return revoked(read), nil
	}
	if !read.Unwritten {
		return nil, nil
	}
	mayWrite, err := a.mayWrite(r.Context(), u, read)
	if mayWrite {
		return apierrors.NewResourceExpired(message.RightsChanged.Say()), nil // whole objects are to be listed
	}
	return nil, err
}

func revoked(read *request.Read) *apierrors.StatusError {
	denied := apierrors.NewForbidden(read.GroupResource(), read.RequiredName(), nil)
	denied.ErrStatus.Message = message.Revoked.Say()
	return denied
}

// Notify calls f soon after changes of RBAC objects, until stop is called. f must not block.
func (a *Access) Notify(f func()) (stop func()) { return a.Authorizer.changes.notify(f) }
