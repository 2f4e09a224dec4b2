package auth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/limits"
)

// rule allows reviews whose line, "verb group/resource/subresource namespace/name", begins with it, and is it if it has a name.
type rule string

func (r rule) allows(line string) bool {
	_, of, _ := strings.Cut(string(r), "/ ")
	_, name, _ := strings.Cut(of, "/")
	return line == string(r) || name == "" && strings.HasPrefix(line, string(r))
}

// lineOf returns the line of a review.
func lineOf(verb, group, resource, subresource, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s/%s %s/%s", verb, group, resource, subresource, namespace, name)
}

// policy is the rules of one caller. Another user is allowed nothing.
type policy struct {
	caller user.Info
	rules  []rule
}

func (p policy) allows(u *authorizationv1.SubjectAccessReviewSpec, line string) bool {
	return u.User == p.caller.GetName() && slices.Equal(u.Groups, p.caller.GetGroups()) &&
		slices.ContainsFunc(p.rules, func(r rule) bool { return r.allows(line) })
}

// impersonated is the result of an impersonation: a user, or a code and a message.
type impersonated struct {
	User *user.DefaultInfo
	Code int
	Text string
}

// statuses are the codecs of refusals.
var statuses = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	return serializer.NewCodecFactory(scheme)
}()

// inLibrary impersonates by the library of the apiserver, as of a release with constrained impersonation or of one before.
func (p policy) inLibrary(r *http.Request, constrained bool) (got impersonated) {
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		u, _ := apirequest.UserFrom(r.Context())
		got.User = &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
	})
	decide := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		line := lineOf(a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), a.GetName())
		if p.allows(reviewSpec(a), line) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "no", nil
	})
	filter := impersonation.WithImpersonation
	if constrained {
		filter = impersonation.WithConstrainedImpersonation
	}
	w := httptest.NewRecorder()
	r = r.Clone(apirequest.WithUser(r.Context(), p.caller))
	filter(next, decide, statuses.WithoutConversion()).ServeHTTP(w, r)
	if got.User == nil {
		status := &metav1.Status{}
		if err := runtime.DecodeInto(statuses.UniversalDeserializer(), w.Body.Bytes(), status); err != nil {
			return impersonated{Text: err.Error()}
		}
		got.Code, got.Text = int(status.Code), status.Message
	}
	return got
}

// inSluice impersonates by Sluice.
func (p policy) inSluice(r *http.Request, constrained, byRules bool) (got impersonated) {
	release := map[bool]string{false: "v1.35.0", true: "v1.36.0"}[constrained]
	review := func(_ context.Context, review, answer runtime.Object) error {
		switch review := review.(type) {
		case *authorizationv1.SubjectAccessReview:
			a := review.Spec.ResourceAttributes
			if a == nil {
				a = &authorizationv1.ResourceAttributes{Verb: review.Spec.NonResourceAttributes.Verb}
			}
			status := &answer.(*authorizationv1.SubjectAccessReview).Status
			status.Allowed = p.allows(&review.Spec, lineOf(a.Verb, a.Group, a.Resource, a.Subresource, a.Namespace, a.Name))
			if !status.Allowed {
				status.Reason = "no"
			}
		case *authorizationv1.SelfSubjectRulesReview:
			answer.(*authorizationv1.SelfSubjectRulesReview).Status.Incomplete = !byRules
		}
		return nil
	}
	a := NewAuthorizer(AuthorizerOptions{
		Reviews: review, Rules: review, AllowTTL: allowTTL, DenyTTL: denyTTL, Queue: limits.NewQueue(reviewsInFlight, knownReviews),
		Version: func() *version.Info { return &version.Info{GitVersion: release} },
	})
	u, err := a.impersonator.user(r.Clone(apirequest.WithUser(r.Context(), p.caller)))
	if no, ok := err.(*notAllowed); ok {
		return impersonated{Code: int(no.Status().Code), Text: no.Status().Message}
	}
	if err != nil {
		return impersonated{Text: err.Error()}
	}
	return impersonated{User: &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}}
}

// check compares the two. A library of before constrained impersonation words and orders refusals otherwise, and each library
// asks for the keys of extra attributes in any order.
func (p policy) check(t *testing.T, path string, h http.Header) impersonated {
	t.Helper()
	var last impersonated
	for _, constrained := range []bool{false, true} {
		want := p.inLibrary(newRequest(path, h.Clone()), constrained)
		for _, byRules := range []bool{false, true} {
			got := p.inSluice(newRequest(path, h.Clone()), constrained, byRules)
			if last = got; !constrained || severalExtras(h) {
				want.Text, got.Text = "", ""
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("constrained %v, by rules %v: %s %v by %q of %v (-library +sluice):\n%s", constrained, byRules, path, h, p.rules, p.caller, diff)
			}
		}
	}
	return last
}

func severalExtras(h http.Header) bool {
	n := 0
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-Extra-") {
			n++
		}
	}
	return n > 1
}

func TestImpersonationFollowsTheLibraryOfTheApiserver(t *testing.T) {
	plain := &user.DefaultInfo{Name: "boss", Groups: []string{"dev", user.AllAuthenticated}}
	agent := &user.DefaultInfo{Name: "system:serviceaccount:a:agent", Groups: []string{"system:serviceaccounts"},
		Extra: map[string][]string{serviceaccount.NodeNameKey: {"n1"}, "other": {"x"}}}
	const jane, account, node = "jane", "system:serviceaccount:b:sa", "system:node:n1"
	as := func(name string, more ...string) http.Header {
		h := http.Header{"Impersonate-User": {name}}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = append(h[more[i]], more[i+1])
		}
		return h
	}
	const group, uid, scopes = "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-A.io%2fscopes"
	five := as(jane, group, "a", group, "b", group, "c", group, "d", group, "e")
	extras := as(jane, scopes, "1", scopes, "2", "Impersonate-Extra-A.io%2fareas", "3", "Impersonate-Extra-B.io%2fc", "4")
	constrained := []rule{"impersonate-on:user-info:list /pods", "impersonate:user-info "}
	for _, tt := range []struct {
		name   string
		caller user.Info
		header http.Header
		rules  []rule
		code   int // 0 for a user
	}{
		{"no rule", plain, as(jane), nil, 403},
		{"everybody", plain, as(jane), []rule{"impersonate /users"}, 0},
		{"one", plain, as(jane), []rule{"impersonate /users/ /jane"}, 0},
		{"another", plain, as(jane), []rule{"impersonate /users/ /joe"}, 403},
		{"users of another API group", plain, as(jane), []rule{"impersonate authentication.k8s.io/users"}, 403},
		{"anonymous", plain, as(user.Anonymous), []rule{"impersonate /users"}, 0},
		{"anonymous who is authenticated", plain, as(user.Anonymous, group, user.AllAuthenticated), []rule{"impersonate "}, 0},
		{"unauthenticated", plain, as(jane, group, user.AllUnauthenticated), []rule{"impersonate "}, 0},
		{"authenticated", plain, as(jane, group, user.AllAuthenticated), []rule{"impersonate "}, 0},
		{"a service account", plain, as(account), []rule{"impersonate /serviceaccounts/ b/"}, 0},
		{"a service account of another namespace", plain, as(account), []rule{"impersonate /serviceaccounts/ c/"}, 403},
		{"a service account as a user", plain, as(account), []rule{"impersonate /users"}, 403},
		{"a service account with groups", plain, as(account, group, "dev"), []rule{"impersonate "}, 0},
		{"no service account", plain, as("system:serviceaccount:b"), []rule{"impersonate /users"}, 0},
		{"a group", plain, as(jane, group, "dev"), []rule{"impersonate /users", "impersonate /groups/ /dev"}, 0},
		{"a group without right", plain, as(jane, group, "dev", group, "ops"), []rule{"impersonate /users", "impersonate /groups/ /dev"}, 403},
		{"system:masters", plain, as(jane, group, user.SystemPrivilegedGroup), []rule{"impersonate "}, 0},
		{"a group of no name", plain, as(jane, group, ""), []rule{"impersonate "}, 0},
		{"a UID", plain, as(jane, uid, "1"), []rule{"impersonate /users", "impersonate authentication.k8s.io/uids"}, 0},
		{"a UID without right", plain, as(jane, uid, "1"), []rule{"impersonate /"}, 403},
		{"extras", plain, extras, []rule{"impersonate /", "impersonate authentication.k8s.io/userextras/"}, 0},
		{"an extra without right", plain, extras, []rule{"impersonate /", "impersonate authentication.k8s.io/userextras/a.io/scopes"}, 403},
		{"no user, a group", plain, http.Header{group: {"dev"}}, []rule{"impersonate "}, 400},
		{"no user, a UID", plain, http.Header{uid: {"1"}}, []rule{"impersonate "}, 400},
		{"no user, an extra", plain, http.Header{scopes: {"1"}}, []rule{"impersonate "}, 400},
		{"a user of no name", plain, http.Header{"Impersonate-User": {""}}, nil, 0},
		{"a user of no name, a group", plain, http.Header{"Impersonate-User": {""}, group: {"dev"}}, []rule{"impersonate "}, 400},
		{"two users", plain, http.Header{"Impersonate-User": {"jane", "root"}}, []rule{"impersonate /users/ /jane"}, 0},

		{"constrained", plain, as(jane), constrained, 0},
		{"constrained, of another request", plain, as(jane), []rule{"impersonate-on:user-info:get", "impersonate:user-info "}, 403},
		{"constrained, of no request", plain, as(jane), []rule{"impersonate:user-info "}, 403},
		{"constrained, of no user", plain, as(jane), constrained[:1], 403},
		{"constrained, a UID, a group, an extra", plain, as(jane, uid, "1", group, "dev", scopes, "1"), constrained, 0},
		{"constrained, five groups", plain, five, constrained, 0},
		{"constrained, five groups by the name of all", plain, five,
			[]rule{constrained[0], "impersonate:user-info authentication.k8s.io/users", "impersonate:user-info authentication.k8s.io/groups/ /*"}, 0},
		{"constrained, a group by the name of all", plain, as(jane, group, "a"),
			[]rule{constrained[0], "impersonate:user-info authentication.k8s.io/users", "impersonate:user-info authentication.k8s.io/groups/ /*"}, 403},
		{"by the name of all", plain, five, []rule{"impersonate /users", "impersonate /groups/ /*"}, 403},
		{"constrained, extras by the name of all", plain, extras,
			[]rule{constrained[0], "impersonate:user-info authentication.k8s.io/users", "impersonate:user-info authentication.k8s.io/userextras/* /*"}, 0},
		{"constrained, extras by the name of all for one key", plain, extras,
			[]rule{constrained[0], "impersonate:user-info authentication.k8s.io/users", "impersonate:user-info authentication.k8s.io/userextras/a.io/scopes /*"}, 403},
		{"constrained, system:masters", plain, as(jane, group, "a", group, user.SystemPrivilegedGroup), constrained, 403},
		{"constrained, a group of no name", plain, as(jane, group, ""), constrained, 403},
		{"constrained, an extra of no key", plain, as(jane, "Impersonate-Extra-", "1"), constrained, 403},
		{"constrained, an extra of no value", plain, as(jane, scopes, ""), constrained, 403},
		{"constrained, an extra with an invalid key", plain, as(jane, "Impersonate-Extra-%2f", "1"), constrained, 403},
		{"constrained, an extra with a key in upper case", plain, as(jane, "Impersonate-Extra-%41.b%2fc", "1"), constrained, 403},
		{"a service account as constrained user", plain, as(account), constrained, 403},
		{"a node as constrained user", plain, as(node), constrained, 403},
		{"an invalid node", plain, as("system:node:N_1"), constrained, 0},
		{"a constrained service account", plain, as(account), []rule{"impersonate-on:serviceaccount:list /pods", "impersonate:serviceaccount authentication.k8s.io/serviceaccounts/ b/sa"}, 0},
		{"a constrained service account with a group", plain, as(account, group, "dev"), []rule{"impersonate-on:serviceaccount:list /pods", "impersonate:serviceaccount "}, 403},
		{"a node", plain, as(node), []rule{"impersonate /users"}, 0},
		{"a constrained node", plain, as(node), []rule{"impersonate-on:arbitrary-node:list", "impersonate:arbitrary-node authentication.k8s.io/nodes/ /n1"}, 0},
		{"a constrained node, and any user", plain, as(node), []rule{"impersonate-on:arbitrary-node:list", "impersonate:arbitrary-node ", "impersonate /users"}, 0},
		{"a constrained node with a group", plain, as(node, group, "dev"), []rule{"impersonate-on:arbitrary-node:list", "impersonate:arbitrary-node "}, 403},
		{"the node of a pod", agent, as(node), []rule{"impersonate-on:associated-node:list", "impersonate:associated-node authentication.k8s.io/nodes/ /*"}, 0},
		{"the node of a pod by name", agent, as(node), []rule{"impersonate-on:associated-node:list", "impersonate:associated-node authentication.k8s.io/nodes/ /n1"}, 403},
		{"the node of another pod", agent, as("system:node:n2"), []rule{"impersonate-on:associated-node:list", "impersonate:associated-node "}, 403},
		{"a node as by its pod", plain, as(node), []rule{"impersonate-on:associated-node:list", "impersonate:associated-node "}, 403},
		{"any node by a pod", agent, as("system:node:n2"), []rule{"impersonate-on:arbitrary-node:list", "impersonate:arbitrary-node "}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := policy{tt.caller, tt.rules}.check(t, "/api/v1/namespaces/a/pods?fieldSelector=spec.nodeName%3Dn1&labelSelector=a%3Db", tt.header)
			if (got.User == nil) != (tt.code > 0) || got.Code != tt.code {
				t.Errorf("%+v instead of code %d", got, tt.code)
			}
		})
	}
	for _, path := range []string{"/healthz", "/api/v1/nodes/n1/proxy/a", "/api/v1/pods?labelSelector=%21%21", "/apis/apps/v1/namespaces/a/deployments/d/scale"} {
		policy{plain, []rule{"impersonate-on:user-info:get", "impersonate:user-info "}}.check(t, path, as(jane))
		policy{plain, nil}.check(t, path, as(jane))
	}
}

// Random headers of random callers by random rules.
func TestAnyImpersonationFollowsTheLibraryOfTheApiserver(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(of ...string) string { return of[random.IntN(len(of))] }
	verbs := []string{"impersonate", "impersonate:user-info", "impersonate:serviceaccount", "impersonate:arbitrary-node", "impersonate:associated-node"}
	allowed, n := 0, 400
	for range n {
		caller := &user.DefaultInfo{Name: some("boss", "system:serviceaccount:a:agent"), Groups: []string{"dev"},
			Extra: map[string][]string{serviceaccount.NodeNameKey: {some("n1", "n2")}}}
		h := http.Header{"Impersonate-User": {some("jane", "system:serviceaccount:b:sa", "system:node:n1", "system:node:", user.Anonymous)}}
		for range random.IntN(6) * random.IntN(2) {
			h.Add("Impersonate-Group", some("a", "b", "", "*", user.AllAuthenticated, user.AllUnauthenticated, user.SystemPrivilegedGroup))
		}
		for range random.IntN(5) * random.IntN(2) {
			h.Add("Impersonate-Extra-"+some("A.io%2fscopes", "A.io%2fareas", "B.io%2fscopes", "B.io%2fareas", "A.io%2f%41", "Areas"), some("1", "2", "*", ""))
		}
		if random.IntN(4) == 0 {
			h.Set("Impersonate-Uid", some("1", ""))
		}
		var rules []rule
		for range random.IntN(12) {
			verb := some(verbs...)
			line := verb + " " + some("/users", "/groups", "/", "authentication.k8s.io/", "authentication.k8s.io/users", "authentication.k8s.io/groups",
				"authentication.k8s.io/nodes", "authentication.k8s.io/userextras/"+some("a.io/scopes", "a.io/areas", "b.io/", "*", ""))
			if random.IntN(4) == 0 {
				line += "/ /" + some("a", "b", "*", "jane", "n1", "1")
			}
			rules = append(rules, rule(line), rule(some("impersonate-on:", "impersonate-on:user-info:list /pods", "impersonate-on:arbitrary-node:list", "none")))
		}
		if (policy{caller, rules}).check(t, "/api/v1/pods", h).User != nil {
			allowed++
		}
	}
	if allowed < n/10 || allowed > n*9/10 {
		t.Errorf("%d of %d are allowed", allowed, n)
	}
}
