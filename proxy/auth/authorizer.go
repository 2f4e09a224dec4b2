package auth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/lru"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
)

// Reviewer creates a review at the apiserver, such as a TokenReview, and fills answer, an object of the same type.
type Reviewer func(ctx context.Context, review, answer runtime.Object) error

// AuthorizerOptions configures an Authorizer.
type AuthorizerOptions struct {
	// Reviews creates SubjectAccessReviews.
	Reviews Reviewer
	// Rules creates SelfSubjectRulesReviews, which tell whether the authorizers go by rules; nil takes none to do so.
	Rules Reviewer
	// AllowTTL and DenyTTL are how long the results of reviews are kept; required.
	AllowTTL, DenyTTL time.Duration
	// IgnoredExtra are keys of the extra attributes of users that reviews leave out; one may end with "*".
	IgnoredExtra []string
	// Queue bounds the reviews that run at the same time. Its reserved places are for accesses that were allowed lately;
	// required.
	Queue *limits.Queue
	// Memory is the memory of the process in bytes, of which a part is for results; 0 means little.
	Memory int64
	// Version returns the version of the apiserver, whose rules of impersonation hold, or nil as long as it is
	// unknown; required.
	Version func() *version.Info
	// CPU shares the processors for selectors that take long to parse; nil lets all work at once.
	CPU *flowcontrol.CPU
	// RBAC follows RBAC objects; nil follows none, so that results are valid until they expire.
	RBAC Follower
	// Metrics counts the reviews; nil counts nothing.
	Metrics *Metrics
}

// Authorizer decides whether users may make requests, by SubjectAccessReview.
type Authorizer struct {
	options      AuthorizerOptions
	reviews      *reviews[decision]
	changes      *changes
	impersonator *impersonator

	allowTTL, denyTTL atomic.Int64 // time.Duration
}

// SetTTLs changes how long the results of reviews are kept. Those that are kept already stay for their
// old time.
func (a *Authorizer) SetTTLs(allow, deny time.Duration) {
	a.allowTTL.Store(int64(allow))
	a.denyTTL.Store(int64(deny))
}

// decision is the result of a SubjectAccessReview.
type decision struct {
	authorizer.Decision
	reason string
}

// NewAuthorizer returns an Authorizer.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	a := &Authorizer{
		options: o, changes: newChanges(o.Metrics),
		reviews: newReviews[decision](o.Queue, o.Metrics.reviews("access"), o.Memory),
	}
	a.SetTTLs(o.AllowTTL, o.DenyTTL)
	a.impersonator = &impersonator{authorizer: a, cpu: o.CPU, version: o.Version, modes: lru.New(maxModes)}
	return a
}

// Run follows RBAC objects until ctx ends, and always returns nil. Each change invalidates the results of all reviews.
func (a *Authorizer) Run(ctx context.Context) error {
	if a.options.RBAC != nil {
		a.changes.follow(ctx, a.options.RBAC)
	}
	return nil
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if attributes.GetUser() == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	spec := a.spec(attributes)
	key, err := a.digest(spec)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	by := asker{caller: limits.ByUser(attributes.GetUser())}
	got, err := a.reviews.get(ctx, key, by, func(ctx context.Context) (result[decision], error) { return a.review(ctx, spec) })
	return got.Decision, got.reason, err
}

// spec returns the SubjectAccessReview of attributes, without the ignored extra attributes of their user.
func (a *Authorizer) spec(attributes authorizer.Attributes) *authorizationv1.SubjectAccessReviewSpec {
	spec := reviewSpec(attributes)
	maps.DeleteFunc(spec.Extra, func(key string, _ authorizationv1.ExtraValue) bool {
		return slices.ContainsFunc(a.options.IgnoredExtra, func(ignored string) bool {
			beginning, some := strings.CutSuffix(ignored, "*")
			return key == ignored || some && strings.HasPrefix(key, beginning)
		})
	})
	return spec
}

// learnedReason is the reason of a decision that the apiserver has made for a request of its own.
const learnedReason = "allowed by the apiserver"

// recall reports whether attributes are known to be allowed, without a review. After the apiserver has
// answered a request of these attributes that began after recall, learn keeps that it has allowed them.
func (a *Authorizer) recall(attributes authorizer.Attributes) (allowed bool, learn func()) {
	key, err := a.digest(a.spec(attributes))
	if err != nil {
		return false, func() {}
	}
	kept, known := a.reviews.recall(key)
	return known && kept.Decision == authorizer.DecisionAllow, func() {
		if !reviewsAll(attributes) { // what was allowed is less than the review is of
			return
		}
		a.reviews.keep(key, result[decision]{
			value: decision{authorizer.DecisionAllow, learnedReason}, positive: true, lasting: true, ttl: time.Duration(a.allowTTL.Load()),
		})
	}
}

// digest identifies a review until the next change of access rules.
func (a *Authorizer) digest(spec *authorizationv1.SubjectAccessReviewSpec) (digest, error) {
	size := spec.Size()
	raw := make([]byte, size, size+8)              // with room for the count
	if _, err := spec.MarshalTo(raw); err != nil { // deterministic
		return digest{}, fmt.Errorf("access review: %w", err)
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(raw, a.changes.now())), nil
}

// review asks the apiserver.
func (a *Authorizer) review(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (result[decision], error) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := a.options.Reviews(ctx, &authorizationv1.SubjectAccessReview{Spec: *spec}, review); err != nil {
		return result[decision]{}, fmt.Errorf("access review: %w", err)
	}
	got := result[decision]{value: decision{authorizer.DecisionNoOpinion, review.Status.Reason}, lasting: reads(spec),
		ttl: time.Duration(a.denyTTL.Load()), bytes: len(review.Status.Reason)}
	switch {
	case review.Status.Allowed:
		got.value.Decision, got.ttl = authorizer.DecisionAllow, time.Duration(a.allowTTL.Load())
		got.positive, got.lasting = true, true
	case review.Status.Denied:
		got.value.Decision = authorizer.DecisionDeny
	}
	return got, nil
}

// reads reports whether a review is of a read. Whoever is denied a write is shown parts of objects by a policy, so that a right
// to write that is granted in an outage must count at once.
func reads(spec *authorizationv1.SubjectAccessReviewSpec) bool {
	a := spec.ResourceAttributes
	return a != nil && (a.Verb == "get" || a.Verb == "list" || a.Verb == "watch")
}

var _ authorizer.UnconditionalAuthorizer = (*Authorizer)(nil)
