package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"sluice/proxy/accounts"
)

// reviewedAhead is how many groups, or values of one extra attribute, of one impersonation are reviewed at the same time.
const reviewedAhead = 16

// anyName is a name that no rule lists; resourceNames may list "" and "*" as names. A caller that may impersonate it may impersonate
// every name, if the authorizers of the apiserver go by rules (Authorizer.goesByRules).
var anyName = "any-" + rand.Text()

// rulesKey identifies the review of whether the authorizers of the apiserver go by rules.
var rulesKey digest = sha256.Sum256([]byte("rules"))

// goesByRules reports whether every authorizer of the apiserver lists the rules by which it decides. RBAC and ABAC do, and allow
// some names or all. An authorization webhook does not: it may allow every name but one.
func (a *Authorizer) goesByRules(ctx context.Context, by asker) bool {
	if a.options.Rules == nil {
		return false
	}
	got, err := a.reviews.get(ctx, rulesKey, by, func(ctx context.Context) (result[decision], error) {
		review := &authorizationv1.SelfSubjectRulesReview{}
		err := a.options.Rules(ctx, &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault},
		}, review)
		got := result[decision]{ttl: time.Duration(a.allowTTL.Load())}
		if err == nil && !review.Status.Incomplete {
			got.value.Decision, got.positive = authorizer.DecisionAllow, true
		}
		return got, err
	})
	return err == nil && got.Decision == authorizer.DecisionAllow
}

// may returns nil if a mode allows a caller to impersonate the wanted user in a request. The error is a notAllowed, or means that
// this could not be reviewed.
func (i *impersonator) may(ctx context.Context, m mode, wanted *user.DefaultInfo, asked authorizer.AttributesRecord) error {
	if m.name != "" {
		asked.User, asked.Verb = m.by, "impersonate-on:"+m.name+":"+asked.Verb
		if err := i.review(ctx, asked); err != nil {
			return err
		}
	}
	for _, n := range m.names(wanted) {
		if err := i.mayAll(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// review returns nil if attributes are allowed. The error is a notAllowed, or means that they could not be reviewed.
func (i *impersonator) review(ctx context.Context, a authorizer.AttributesRecord) error {
	decision, reason, err := i.authorizer.Authorize(ctx, a)
	if err != nil || decision == authorizer.DecisionAllow {
		return err
	}
	return refuse(a, reason)
}

// mayAll returns nil if all names are allowed. A caller that may impersonate every name of a kind needs one review for all.
// Without that, each name costs one: the first alone, the others up to reviewedAhead at a time.
func (i *impersonator) mayAll(ctx context.Context, n *names) error {
	if n.never != "" {
		return refuse(n.AttributesRecord, n.never)
	}
	may := func(key, name string) error {
		a := n.AttributesRecord
		a.Subresource, a.Name = key, name
		return i.review(ctx, a)
	}
	if i.authorizer.goesByRules(ctx, asker{key: accounts.ByUser(n.User.GetName())}) {
		if n.severalKeys && may(anyName, anyName) == nil || may(n.Subresource, anyName) == nil {
			return nil
		}
	}
	if n.wildcard && (n.Subresource == "" && may("", "*") == nil || n.Subresource != "" && may("*", "*") == nil) {
		return nil
	}
	if err := may(n.Subresource, n.all[0]); err != nil {
		return err
	}
	for some := range slices.Chunk(n.all[1:], reviewedAhead) {
		refused := make([]error, len(some))
		var reviews sync.WaitGroup
		for at, name := range some {
			reviews.Go(func() { refused[at] = may(n.Subresource, name) })
		}
		reviews.Wait()
		if at := slices.IndexFunc(refused, func(err error) bool { return err != nil }); at >= 0 {
			return refused[at]
		}
	}
	return nil
}

// refuse returns the refusal of attributes in the words of the apiserver.
func refuse(a authorizer.AttributesRecord, reason string) *notAllowed {
	resource, where := a.Resource, "at the cluster scope"
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.User.GetName(), a.Verb, resource, a.APIGroup, where)
	if !a.ResourceRequest {
		text = fmt.Sprintf("User %q cannot %s path %q", a.User.GetName(), a.Verb, a.Path)
	}
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	if reason != "" {
		text += ": " + reason
	}
	of := schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}
	return &notAllowed{apierrors.NewForbidden(of, a.Name, errors.New(text)), reason}
}
