package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Self answers TokenReviews and SubjectAccessReviews about one user, that of Sluice's own credentials. It
// needs no right to make reviews: every authenticated user may ask the apiserver about itself. A token of
// another user is rejected, and another user is allowed nothing.
//
// Attributes in the extra fields of a user are not compared: two tokens of one service account differ in
// them. An authorizer of the apiserver that decides by them decides for Sluice's own token.
type Self struct {
	caller authenticationclient.SelfSubjectReviewsGetter
	own    authenticationclient.SelfSubjectReviewsGetter
	access authorizationclient.SelfSubjectAccessReviewsGetter
	user   atomic.Pointer[authenticationv1.UserInfo] // of Sluice's credentials, when it was last reviewed
}

// NewSelf returns a Self. own and access send Sluice's credentials. caller sends none itself, over a
// transport that WithCallerToken wraps.
func NewSelf(caller, own authenticationclient.SelfSubjectReviewsGetter,
	access authorizationclient.SelfSubjectAccessReviewsGetter) *Self {
	return &Self{caller: caller, own: own, access: access}
}

// TokenReviews implements authenticationclient.TokenReviewsGetter.
func (s *Self) TokenReviews() authenticationclient.TokenReviewInterface { return selfTokens{s} }

// SubjectAccessReviews implements authorizationclient.SubjectAccessReviewsGetter.
func (s *Self) SubjectAccessReviews() authorizationclient.SubjectAccessReviewInterface {
	return selfAccess{s}
}

// callerToken is the key of the token that WithCallerToken sends.
type callerToken struct{}

// WithCallerToken sends requests with the token in their context, instead of any credentials.
func WithCallerToken(next http.RoundTripper) http.RoundTripper { return tokenTransport{next} }

type tokenTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, _ := r.Context().Value(callerToken{}).(string)
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}

type selfTokens struct{ self *Self }

// Create asks the apiserver, with the token, whose it is.
func (t selfTokens) Create(ctx context.Context, review *authenticationv1.TokenReview,
	options metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	out := &authenticationv1.TokenReview{}
	ctx = context.WithValue(ctx, callerToken{}, review.Spec.Token)
	caller, err := t.self.caller.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, options)
	if apierrors.IsUnauthorized(err) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("of the caller: %w", err)
	}
	own, err := t.self.own.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, options)
	if err != nil {
		return nil, fmt.Errorf("of Sluice: %w", err)
	}
	t.self.user.Store(&own.Status.UserInfo)
	c := caller.Status.UserInfo
	if t.self.is(c.Username, c.UID, c.Groups) {
		out.Status.Authenticated, out.Status.User = true, c
	}
	return out, nil
}

// is reports whether a user is that of Sluice's credentials.
func (s *Self) is(name, uid string, groups []string) bool {
	own := s.user.Load()
	return own != nil && name != "" && own.Username == name && own.UID == uid &&
		slices.Equal(slices.Sorted(slices.Values(own.Groups)), slices.Sorted(slices.Values(groups)))
}

type selfAccess struct{ self *Self }

// Create asks the apiserver what Sluice itself may do, if the review is of its user.
func (a selfAccess) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview,
	options metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	out := &authorizationv1.SubjectAccessReview{}
	if s := review.Spec; !a.self.is(s.User, s.UID, s.Groups) {
		out.Status.Reason = "not the user of Sluice"
		return out, nil
	}
	own, err := a.self.access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: review.Spec.ResourceAttributes, NonResourceAttributes: review.Spec.NonResourceAttributes,
		},
	}, options)
	if err != nil {
		return nil, err
	}
	out.Status = own.Status
	return out, nil
}

var (
	_ authenticationclient.TokenReviewsGetter        = (*Self)(nil)
	_ authorizationclient.SubjectAccessReviewsGetter = (*Self)(nil)
)
