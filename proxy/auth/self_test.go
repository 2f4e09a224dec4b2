package auth

import (
	"context"
	"errors"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// whoami answers SelfSubjectReviews.
type whoami func(context.Context) (authenticationv1.UserInfo, error)

func (w whoami) SelfSubjectReviews() authenticationclient.SelfSubjectReviewInterface { return w }

func (w whoami) Create(ctx context.Context, r *authenticationv1.SelfSubjectReview, _ metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error) {
	u, err := w(ctx)
	r.Status.UserInfo = u
	return r, err
}

// mayI answers SelfSubjectAccessReviews.
type mayI func(*authorizationv1.SelfSubjectAccessReviewSpec) bool

func (m mayI) SelfSubjectAccessReviews() authorizationclient.SelfSubjectAccessReviewInterface {
	return m
}

func (m mayI) Create(_ context.Context, r *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error) {
	r.Status.Allowed = m(&r.Spec)
	return r, nil
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
		self := NewSelf(whoami(caller), whoami(func(context.Context) (authenticationv1.UserInfo, error) { return own, tt.owns }),
			mayI(func(s *authorizationv1.SelfSubjectAccessReviewSpec) bool {
				return s.ResourceAttributes.Resource == "pods"
			}))
		review, err := self.TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}}, metav1.CreateOptions{})
		if (err != nil) != tt.unchecked || err == nil && review.Status.Authenticated != tt.known || presented != "t" {
			t.Errorf("%s: %+v, %v, presented %q", tt.name, review, err, presented)
		}
		for resource, want := range map[string]bool{"pods": tt.known, "secrets": false} {
			access, err := self.SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: tt.caller.Username, UID: tt.caller.UID, Groups: tt.caller.Groups,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Resource: resource},
			}}, metav1.CreateOptions{})
			if err != nil || access.Status.Allowed != want {
				t.Errorf("%s: %s allowed %v, want %v; %v", tt.name, resource, access.Status.Allowed, want, err)
			}
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
