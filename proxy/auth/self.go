package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// Self answers TokenReviews and SubjectAccessReviews about one user, that of Sluice's own credentials. It
// needs no right to make reviews: every authenticated user may ask the apiserver about itself. A token of
// another user is rejected, and another user is allowed nothing.
//
// Attributes in the extra fields of a user are not compared: two tokens of one service account differ in
// them. An authorizer of the apiserver that decides by them decides for Sluice's own token.
type Self struct {
	caller Reviewer
	own    Reviewer
	user   atomic.Pointer[authenticationv1.UserInfo] // of Sluice's credentials, when it was last reviewed
}

// NewSelf returns a Self. own sends Sluice's credentials. caller sends none itself, over a transport that WithCallerToken
// wraps.
func NewSelf(caller, own Reviewer) *Self { return &Self{caller: caller, own: own} }

// Review is a Reviewer for TokenReviews and SubjectAccessReviews.
func (s *Self) Review(ctx context.Context, review, answer runtime.Object) error {
	switch review := review.(type) {
	case *authenticationv1.TokenReview:
		return s.token(ctx, review.Spec.Token, &answer.(*authenticationv1.TokenReview).Status)
	case *authorizationv1.SubjectAccessReview:
		return s.access(ctx, &review.Spec, &answer.(*authorizationv1.SubjectAccessReview).Status)
	}
	return fmt.Errorf("%T: %w", review, errors.ErrUnsupported)
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

// token asks the apiserver, with the token, whose it is.
func (s *Self) token(ctx context.Context, token string, status *authenticationv1.TokenReviewStatus) error {
	if strings.ContainsAny(token, " \t") || !httpguts.ValidHeaderFieldValue(token) {
		return nil // it would arrive as another one, or not be sent, as if the apiserver failed
	}
	ctx = context.WithValue(ctx, callerToken{}, token)
	caller, own := &authenticationv1.SelfSubjectReview{}, &authenticationv1.SelfSubjectReview{}
	err := s.caller(ctx, &authenticationv1.SelfSubjectReview{}, caller)
	if apierrors.IsUnauthorized(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("of the caller: %w", err)
	}
	if err := s.own(ctx, &authenticationv1.SelfSubjectReview{}, own); err != nil {
		return fmt.Errorf("of Sluice: %w", err)
	}
	s.user.Store(&own.Status.UserInfo)
	c := caller.Status.UserInfo
	if s.is(c.Username, c.UID, c.Groups) {
		status.Authenticated, status.User = true, c
	}
	return nil
}

// is reports whether a user is that of Sluice's credentials.
func (s *Self) is(name, uid string, groups []string) bool {
	own := s.user.Load()
	return own != nil && name != "" && own.Username == name && own.UID == uid &&
		slices.Equal(slices.Sorted(slices.Values(own.Groups)), slices.Sorted(slices.Values(groups)))
}

// access asks the apiserver about a right of Sluice itself, if the review is of its user.
func (s *Self) access(
	ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec, status *authorizationv1.SubjectAccessReviewStatus,
) error {
	if !s.is(spec.User, spec.UID, spec.Groups) {
		status.Reason = "not the user of Sluice"
		return nil
	}
	own := &authorizationv1.SelfSubjectAccessReview{}
	err := s.own(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: spec.ResourceAttributes, NonResourceAttributes: spec.NonResourceAttributes,
	}}, own)
	if err == nil {
		*status = own.Status
	}
	return err
}
