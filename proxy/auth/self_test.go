package auth

import (
	"context"
	"errors"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// selfReviews answers SelfSubjectReviews as of one user, who may read pods.
func selfReviews(who func(context.Context) (authenticationv1.UserInfo, error)) Reviewer {
	return func(ctx context.Context, review, answer runtime.Object) (err error) {
		switch answer := answer.(type) {
		case *authenticationv1.SelfSubjectReview:
			answer.Status.UserInfo, err = who(ctx)
		case *authorizationv1.SelfSubjectAccessReview:
			spec := review.(*authorizationv1.SelfSubjectAccessReview).Spec
			answer.Status.Allowed = spec.ResourceAttributes.Resource == "pods"
		}
		return err
	}
}

func TestSelfKnowsOnlyTheUserOfItsOwnCredentials(t *testing.T) {
	own := authenticationv1.UserInfo{Username: "a", UID: "1", Groups: []string{"g", "system:authenticated"}}
	down := errors.New("down")
	for _, tt := range []struct {
		name             string
		caller           authenticationv1.UserInfo
		callerErr, owns  error
		known, unchecked bool
	}{
		{name: "another token", caller: authenticationv1.UserInfo{Username: "a", UID: "1", Groups: []string{"system:authenticated", "g"}}, known: true},
		{name: "another user", caller: authenticationv1.UserInfo{Username: "b", UID: "1", Groups: own.Groups}},
		{name: "an account made anew", caller: authenticationv1.UserInfo{Username: "a", UID: "2", Groups: own.Groups}},
		{name: "fewer groups", caller: authenticationv1.UserInfo{Username: "a", UID: "1", Groups: own.Groups[1:]}},
		{name: "an invalid token", callerErr: apierrors.NewUnauthorized("x")},
		{name: "no apiserver", callerErr: down, unchecked: true},
		{name: "no apiserver for itself", caller: own, owns: down, unchecked: true},
	} {
		presented := ""
		caller := func(ctx context.Context) (authenticationv1.UserInfo, error) {
			presented, _ = ctx.Value(callerToken{}).(string)
			return tt.caller, tt.callerErr
		}
		self := NewSelf(selfReviews(caller), selfReviews(func(context.Context) (authenticationv1.UserInfo, error) { return own, tt.owns }))
		review := &authenticationv1.TokenReview{}
		err := self.Review(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}}, review)
		if (err != nil) != tt.unchecked || err == nil && review.Status.Authenticated != tt.known || presented != "t" {
			t.Errorf("%s: %+v, %v, presented %q", tt.name, review, err, presented)
		}
		for resource, want := range map[string]bool{"pods": tt.known, "secrets": false} {
			access := &authorizationv1.SubjectAccessReview{}
			err := self.Review(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: tt.caller.Username, UID: tt.caller.UID, Groups: tt.caller.Groups,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Resource: resource},
			}}, access)
			if err != nil || access.Status.Allowed != want {
				t.Errorf("%s: %s allowed %v, want %v; %v", tt.name, resource, access.Status.Allowed, want, err)
			}
		}
	}
}

// A header would carry another token, or none. Subprotocols of a WebSocket can have such tokens.
func TestSelfRejectsTokensThatDoNotFitAHeader(t *testing.T) {
	self := NewSelf(func(ctx context.Context, _, _ runtime.Object) error {
		t.Errorf("%q is sent", ctx.Value(callerToken{}))
		return nil
	}, nil)
	for _, token := range []string{"a b", "a\t", "\ta", "a\nb", "a\x00"} {
		review := &authenticationv1.TokenReview{}
		err := self.Review(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, review)
		if err != nil || review.Status.Authenticated {
			t.Errorf("%q: %+v, %v", token, review.Status, err)
		}
	}
}

func TestSelfSendsTheTokenOfTheCallerAndNothingElse(t *testing.T) {
	var sent http.Header
	transport := WithCallerToken(transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return nil, errors.New("stop")
	}))
	r, err := http.NewRequestWithContext(context.WithValue(t.Context(), callerToken{}, "t"), http.MethodPost, "https://x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer other")
	if _, err := transport.RoundTrip(r); err == nil || sent.Get("Authorization") != "Bearer t" || r.Header.Get("Authorization") != "Bearer other" {
		t.Errorf("sent %v, %v", sent, err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
