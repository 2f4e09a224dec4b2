package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
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

// authorize decides for the library's filter. A caller that may impersonate every name of a kind needs one review for all of them.
func (i *impersonator) authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	a := attemptFrom(ctx)
	if strings.HasPrefix(asked.GetVerb(), "impersonate-on:") {
		if i.mayAll(ctx, a, asked) {
			return authorizer.DecisionNoOpinion, "", nil
		}
	} else if i.mayAny(ctx, a, asked) {
		return authorizer.DecisionAllow, "", nil
	}
	i.reviewAhead(ctx, a, asked)
	decision, reason, err := i.authorizer.Authorize(ctx, asked)
	a.reason = reason
	if err != nil {
		a.failed = err
	}
	return decision, reason, err
}

// mayAny reports whether the caller may impersonate every name of the kind that is asked for, as far as Sluice can know.
func (i *impersonator) mayAny(ctx context.Context, a *attempt, asked authorizer.Attributes) bool {
	if !i.authorizer.goesByRules(ctx, asker{key: accounts.ByUser(asked.GetUser().GetName())}) {
		return false
	}
	keys := []string{asked.GetSubresource()}
	if asked.GetResource() == "userextras" && len(a.extras()) > 1 {
		keys = []string{anyName, asked.GetSubresource()}
	}
	return slices.ContainsFunc(keys, func(key string) bool {
		got, _, err := i.authorizer.Authorize(ctx, named(asked, key, anyName))
		return err == nil && got == authorizer.DecisionAllow
	})
}

// mayAll reports whether the caller may impersonate all that a asks for without constraint. Constrained impersonation is not
// asked for then: it allows no more, and makes the same user, except of nodes.
func (i *impersonator) mayAll(ctx context.Context, a *attempt, asked authorizer.Attributes) bool {
	name := a.header.Get(authenticationv1.ImpersonateUserHeader)
	if strings.HasPrefix(name, "system:node:") {
		return false
	}
	may := authorizer.AttributesRecord{
		User: asked.GetUser(), Verb: "impersonate", APIVersion: "v1", Resource: "users", Name: name, ResourceRequest: true,
	}
	if namespace, name, err := serviceaccount.SplitUsername(name); err == nil {
		may.Resource, may.Namespace, may.Name = "serviceaccounts", namespace, name
	}
	if !i.mayAny(ctx, a, may) {
		if got, _, err := i.authorizer.Authorize(ctx, may); err != nil || got != authorizer.DecisionAllow {
			return false
		}
	}
	may.Namespace, may.Resource = "", "groups"
	if len(a.header[authenticationv1.ImpersonateGroupHeader]) > 0 && !i.mayAny(ctx, a, may) {
		return false
	}
	may.APIGroup, may.Resource = authenticationv1.GroupName, "uids"
	if a.header.Get(authenticationv1.ImpersonateUIDHeader) != "" && !i.mayAny(ctx, a, may) {
		return false
	}
	may.Resource = "userextras"
	for key := range a.extras() {
		if may.Subresource = key; !i.mayAny(ctx, a, may) {
			return false
		}
	}
	return true
}

// named returns attributes with another subresource and name.
func named(a authorizer.Attributes, subresource, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: a.GetUser(), Verb: a.GetVerb(), APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(), Namespace: a.GetNamespace(),
		Resource: a.GetResource(), Subresource: subresource, Name: name, ResourceRequest: true,
	}
}

// reviewAhead begins reviews of the names that the filter asks for next, one after the other, if it allows the one before. It
// stops at the first that is refused, so no more than reviewedAhead are reviewed in vain.
func (i *impersonator) reviewAhead(ctx context.Context, a *attempt, asked authorizer.Attributes) {
	var names []string
	switch asked.GetResource() {
	case "groups":
		names = a.header[authenticationv1.ImpersonateGroupHeader]
	case "userextras":
		names = a.extras()[asked.GetSubresource()]
	}
	kind := [3]string{asked.GetVerb(), asked.GetResource(), asked.GetSubresource()}
	at := a.asked[kind] // the filter asks for them in order
	a.asked[kind]++
	if at == 0 {
		return
	}
	first := at + reviewedAhead
	if at == 1 {
		first = at + 1
	}
	for n := first; n <= at+reviewedAhead && n < len(names); n++ {
		go func() { _, _, _ = i.authorizer.Authorize(a.ahead, named(asked, asked.GetSubresource(), names[n])) }()
	}
}

// extras returns the extra attributes that the request asks for.
func (a *attempt) extras() map[string][]string {
	extras := map[string][]string{}
	for name, values := range a.header {
		if key, ok := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix); ok {
			key = strings.ToLower(key)
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			extras[key] = append(extras[key], values...)
		}
	}
	return extras
}
