package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/limits"
	"sluice/proxy/request"
)

// tokens verifies bearer tokens by TokenReview. A rejected token is a result like a verified one, so
// that it does not cost a review on every request.
type tokens struct {
	create    Reviewer
	audiences []string
	ttl       atomic.Int64                      // time.Duration
	reviews   *reviews[*authenticator.Response] // nil for a rejected token
}

// maxToken is the longest token that is reviewed, in bytes: several times as long as tokens with hundreds
// of groups.
const maxToken = 16 << 10

// errToken is returned for a token that is longer than maxToken.
var errToken = errors.New("the token is too long")

// bearer is the caller with a token.
type bearer struct {
	caller  limits.Caller // the user of its connection, or its address
	account limits.Account
	bytes   int64 // of memory that its request takes
	request *request.Info
}

// bearerKey is the key of the bearer in a context.
type bearerKey struct{}

// AuthenticateToken implements authenticator.Token.
func (t *tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if len(token) > maxToken {
		return nil, false, errToken
	}
	b, _ := ctx.Value(bearerKey{}).(bearer)
	by := asker{
		caller: b.caller,
		hold: func(end func()) (*limits.Hold, error) {
			return b.account.TakeUntil(b.bytes, end)
		},
		request: b.request,
	}
	resp, err := t.reviews.get(ctx, tokenDigest(token), by, func(ctx context.Context) (result[*authenticator.Response], error) {
		return t.review(ctx, token)
	})
	return resp, err == nil && resp != nil, err
}

// tokenDigest reads the token in place: each recheck of each watch asks for it.
func tokenDigest(token string) digest {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(token), len(token)))
}

// review asks the apiserver for the user of a token.
func (t *tokens) review(ctx context.Context, token string) (result[*authenticator.Response], error) {
	got := result[*authenticator.Response]{ttl: time.Duration(t.ttl.Load())}
	review := &authenticationv1.TokenReview{}
	err := t.create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	}, review)
	if err != nil {
		return got, fmt.Errorf("token review: %w", err)
	}
	if !t.accepts(&review.Status) {
		return got, nil
	}
	u := review.Status.User
	extra := make(map[string][]string, len(u.Extra))
	for key, values := range u.Extra {
		extra[key] = values
	}
	verified := &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra}
	got.value, got.bytes = &authenticator.Response{User: verified}, memoryOf(verified)
	got.positive, got.lasting = true, true
	return got, nil
}

// memoryOf returns about how many bytes of memory a user takes.
func memoryOf(u *user.DefaultInfo) int {
	const fixed, each, entry = 256, 24, 72 // each string has a header, and is rounded up
	bytes := fixed + len(u.Name) + len(u.UID)
	for _, group := range u.Groups {
		bytes += each + len(group)
	}
	for key, values := range u.Extra {
		bytes += entry + len(key)
		for _, value := range values {
			bytes += each + len(value)
		}
	}
	return bytes
}

// accepts reports whether the review verified the token, for one of the audiences if there are any. An
// apiserver that does not support audiences returns none; its token is for the apiserver alone.
func (t *tokens) accepts(s *authenticationv1.TokenReviewStatus) bool {
	if !s.Authenticated || s.User.Username == "" {
		return false
	}
	return len(t.audiences) == 0 || slices.ContainsFunc(s.Audiences, func(a string) bool { return slices.Contains(t.audiences, a) })
}

var _ authenticator.Token = (*tokens)(nil)
