package auth

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// reviewer verifies tokens by TokenReview. For a token that the apiserver rejects it returns no error,
// whatever reason the apiserver gives: the token cache keeps only results without an error, and a
// rejected token must not cost a review on every request.
type reviewer struct {
	reviews authenticationclient.TokenReviewInterface
}

// AuthenticateToken implements authenticator.Token.
func (r reviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := r.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, false, fmt.Errorf("token review: %w", err)
	}
	u := review.Status.User
	if !review.Status.Authenticated || u.Username == "" {
		return nil, false, nil
	}
	extra := make(map[string][]string, len(u.Extra))
	for key, values := range u.Extra {
		extra[key] = values
	}
	return &authenticator.Response{
		User: &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra},
	}, true, nil
}

var _ authenticator.Token = reviewer{}
