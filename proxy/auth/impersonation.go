package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/lru"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// attempt is an impersonation: the caller, and the headers of its request.
type attempt struct {
	user   user.Info
	header http.Header
}

type attemptKey struct{}

// attemptFrom returns the attempt by which a request got its user; nil if it got it otherwise.
func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// impersonator applies impersonation headers by the rules of the apiserver.
type impersonator struct {
	authorizer *Authorizer
	cpu        *flowcontrol.CPU
	version    func() *version.Info // of the apiserver
	modes      *lru.Cache           // the name of the mode in which a caller impersonated last, by its name
}

// notAllowed is the error of an impersonation that is not allowed, or not a valid one.
type notAllowed struct {
	*apierrors.StatusError
	reason string // of the decision
}

// user returns the user that r, by its headers, impersonates. The error is a notAllowed, or means that the impersonation could
// not be reviewed.
func (i *impersonator) user(r *http.Request) (user.Info, error) {
	info := request.From(r.Context())
	caller, _ := apirequest.UserFrom(r.Context())
	wanted, err := wantedUser(r.Header)
	if err != nil || wanted == nil || caller == nil {
		return caller, err
	}
	end, err := i.cpu.Parse(r.Context(), info)
	if err != nil {
		return nil, err
	}
	info.ParseName() // constrained impersonation can be allowed for one object
	asked := requestAttributes(info)
	end()
	var failed, refused error
	refusedBy := ""
	last, found := i.modes.Get(caller.GetName())
	if !found {
		last = "none"
	}
	for _, m := range modesOf(caller, wanted, hasConstrainedImpersonation(i.version())) {
		err := i.may(r.Context(), m, wanted, asked)
		var no *notAllowed
		switch {
		case err == nil:
			i.modes.Add(caller.GetName(), m.name)
			return m.user(wanted), nil
		case !errors.As(err, &no):
			failed = err
		case refused == nil || refusedBy != last && (m.name == last || refusedBy == ""):
			// The apiserver tells of the last mode, else of the first constrained one.
			refused, refusedBy = err, m.name
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, refused
}

// wantedUser returns the user that impersonation headers ask for, nil if they ask for none. The error is a notAllowed.
func wantedUser(h http.Header) (*user.DefaultInfo, error) {
	u := &user.DefaultInfo{
		Name: h.Get(authenticationv1.ImpersonateUserHeader), UID: h.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: slices.Clone(h[authenticationv1.ImpersonateGroupHeader]),
	}
	extras := false
	for name, values := range h {
		key, ok := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		extras = true
		if len(values) == 0 {
			continue
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[key] = append(u.Extra[key], values...)
	}
	switch {
	case u.Name != "":
		return u, nil
	case u.UID != "" || len(u.Groups) > 0 || extras:
		text := fmt.Sprintf("requested %#v without impersonating a user name", u)
		return nil, &notAllowed{StatusError: apierrors.NewBadRequest(text)}
	}
	return nil, nil
}

// requestAttributes returns the attributes by which a request is authorized. Selectors that do not parse are reviewed as none.
func requestAttributes(info *request.Info) authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{
		Verb: info.Verb, Namespace: info.Namespace, APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource, Name: info.Name, ResourceRequest: info.IsResourceRequest, Path: info.Path,
	}
	if s, err := fields.ParseSelector(info.FieldSelector); err == nil {
		a.FieldSelectorRequirements = s.Requirements()
	}
	if s, err := labels.Parse(info.LabelSelector); err == nil {
		a.LabelSelectorRequirements, _ = s.Requirements()
	}
	return a
}

// WithImpersonation is a filter that authorizes and applies the impersonation headers of ClientCert
// callers: next sees the impersonated user. Impersonation headers of other callers are forwarded, and
// the apiserver applies them; Access applies them to reads from the cache.
func (a *Authorizer) WithImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		if info.Caller != request.ClientCert || !info.Impersonates {
			next.ServeHTTP(w, r)
			return
		}
		u, err := a.impersonator.user(r)
		if err != nil {
			refuseImpersonation(w, r, info, err)
			return
		}
		info.Impersonated = u
		caller, _ := apirequest.UserFrom(r.Context())
		ctx := context.WithValue(r.Context(), attemptKey{}, &attempt{caller, r.Header})
		r = withOwnHeader(r.WithContext(apirequest.WithUser(ctx, u)))
		maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Impersonate-") })
		next.ServeHTTP(w, r)
	})
}

// errNotReviewed is the response to a caller whose impersonation could not be reviewed. The error of the
// review is about Sluice, which the caller need not know.
var errNotReviewed = response.NewUnavailable(message.NotReviewed.Say())

func refuseImpersonation(w http.ResponseWriter, r *http.Request, info *request.Info, err error) {
	info.Outcome.Source = request.SourceGateway
	var no *notAllowed
	if !errors.As(err, &no) {
		response.Error(w, r, errNotReviewed)
		return
	}
	info.Decision = request.Decision{Verdict: request.Forbid, Reason: no.reason}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	response.Error(w, r, no)
}

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
			got.value.Decision, got.positive, got.lasting = authorizer.DecisionAllow, true, true
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
	if i.authorizer.goesByRules(ctx, asker{caller: limits.ByUser(n.User)}) {
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
