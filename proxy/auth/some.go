package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"sluice/proxy/message"
	"sluice/proxy/request"
)

// reviewsOfARead is how many reviews of one read run at the same time.
const reviewsOfARead = 32

var errBindingsUnknown = &reviewError{errors.New("the RoleBindings have not been read yet")}

// SetSome sets which callers read some namespaces where they may not read all, besides those that ask for it by a header.
func (a *Access) SetSome(match func(user string, groups []string, agent string) bool) {
	a.some.Store(&match)
}

// MayReadSome returns a list or watch across namespaces, which the caller of r may not make, with the namespaces in which it may
// make it; nil if there are none, or if it does not ask for these. The error is that of MayRead.
func (a *Access) MayReadSome(r *http.Request, read *request.Read) (*request.Read, error) {
	if a.Authorizer.options.RBAC == nil || !read.Across() {
		return nil, nil
	}
	info := request.From(r.Context())
	ctx, cancel := context.WithTimeout(withStale(r.Context(), info), 2*reviewTimeout)
	defer cancel()
	u, err := a.reader(r.WithContext(ctx))
	if err != nil || u == nil {
		return nil, err
	}
	match := a.some.Load()
	if r.Header.Get(request.NamespacesHeader) == "" && (match == nil || !(*match)(u.GetName(), u.GetGroups(), r.UserAgent())) {
		return nil, nil
	}
	some := *read
	if some.Namespaces, err = a.namespaces(ctx, u, read); err != nil || some.Namespaces == nil {
		return nil, err
	}
	decided(info, u, fmt.Sprintf("allowed in each of %d namespaces", len(some.Namespaces)))
	return &some, nil
}

// namespaces returns those in which u may make a read across namespaces, in ascending order; nil if there are none. It reviews those
// that RoleBindings propose.
func (a *Access) namespaces(ctx context.Context, u user.Info, read *request.Read) ([]string, error) {
	proposed, _, err := a.Authorizer.changes.bindings.proposed(u)
	if err != nil {
		return nil, err
	}
	allowed := make([]bool, len(proposed))
	reviews, ctx := errgroup.WithContext(ctx)
	reviews.SetLimit(reviewsOfARead)
	for i, ns := range proposed {
		reviews.Go(func() error {
			var err error
			allowed[i], err = a.mayReadPart(ctx, u, read.In(ns))
			return err
		})
	}
	if err := reviews.Wait(); err != nil {
		return nil, err
	}
	var some []string
	for i, ns := range proposed {
		if allowed[i] {
			some = append(some, ns)
		}
	}
	return some, nil
}

// mayReadPart reports whether u may make the part of a read in one namespace. Callers could have each namespace reviewed by ever new
// selectors and names: the former are left out, and the latter count only where the right to all objects is denied.
func (a *Access) mayReadPart(ctx context.Context, u user.Info, read *request.Read) (bool, error) {
	part := readAttributes(u, read)
	if !slices.Contains(u.GetGroups(), user.NodesGroup) {
		part.LabelSelectorRequirements, part.FieldSelectorRequirements = nil, nil
	}
	if part.Name != "" && !read.OfNamespaces() {
		whole := part
		whole.Name = ""
		if got, _, err := a.Authorizer.Authorize(ctx, whole); err != nil || got == authorizer.DecisionAllow {
			return err == nil, err
		}
	}
	got, _, err := a.Authorizer.Authorize(ctx, part)
	return err == nil && got == authorizer.DecisionAllow, err
}

// stillSome is StillAllowed for a watch of some namespaces. One whose namespaces have changed, or those that its client could list,
// is expired, so that its client lists again.
func (a *Access) stillSome(ctx context.Context, u user.Info, read *request.Read, all bool) (*apierrors.StatusError, error) {
	var some []string
	var err error
	if !all {
		if some, err = a.namespaces(ctx, u, read); err != nil {
			return nil, err
		}
	}
	changed := all || some != nil && !slices.Equal(some, read.Namespaces)
	if !changed && some != nil && read.Listed != nil {
		lists := *read
		lists.Verb = "list"
		listed, err := a.namespaces(ctx, u, &lists)
		if err != nil {
			return nil, err
		}
		changed = !slices.Equal(listed, read.Listed)
	}
	switch {
	case changed:
		return apierrors.NewResourceExpired(message.RightsChanged.Say()), nil
	case some == nil:
		return revoked(read), nil
	}
	return nil, nil
}
