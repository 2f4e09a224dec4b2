package authz

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"sluice/test/harness"
)

// manyGroups are the groups that a caller impersonates, of whom by-group may read pods.
func manyGroups(n int) []string {
	groups := []string{"by-group"}
	for i := 1; i < n; i++ {
		groups = append(groups, fmt.Sprintf("team-%03d", i))
	}
	return groups
}

// listedGroups are the groups that a role names.
const listedGroups = 200

// impersonators are the rules by which groups of client certificates, and of service accounts, may impersonate, by the end of
// their names.
var impersonators = map[string][]rbacv1.PolicyRule{
	"any": {
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users", "groups", "serviceaccounts"}},
		{
			Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"},
			Resources: []string{"uids", "userextras/scopes", "userextras/areas"},
		},
	},
	"all": {{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
	"listed": {
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"jane"}},
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"groups"}, ResourceNames: manyGroups(listedGroups)},
		{
			Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"},
			Resources: []string{"userextras/scopes"}, ResourceNames: manyGroups(listedGroups),
		},
	},
	"strange": { // names that are no patterns
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}},
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"groups"}, ResourceNames: []string{"", "*", "by-group"}},
	},
	"constrained": {
		{Verbs: []string{"impersonate:user-info"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"users", "groups"}},
		{Verbs: []string{"impersonate-on:user-info:list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	},
	"constrained-listed": {
		{Verbs: []string{"impersonate:user-info"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"users"}},
		{
			Verbs: []string{"impersonate:user-info"}, APIGroups: []string{"authentication.k8s.io"},
			Resources: []string{"groups"}, ResourceNames: manyGroups(listedGroups),
		},
		{Verbs: []string{"impersonate-on:user-info:list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	},
}

// newImpersonator returns a caller of its own, which no verdict is known of, with the rights of a kind.
func newImpersonator(t *testing.T, kind, name string, byCertificate bool) caller {
	t.Helper()
	in := "may-impersonate-" + kind
	if byCertificate {
		return caller{name: name, as: harness.Anonymous, config: withCertificate(t, organized(name, in))}
	}
	apiserver.MustCreate(t, "/api/v1/namespaces/"+in+"/serviceaccounts", named(name))
	return caller{name: name, as: "reader", config: withToken(accountToken(t, in, name))}
}

// reviewCount returns how many access reviews the apiserver has answered.
func reviewCount(t *testing.T) int {
	t.Helper()
	page, err := apiserver.Metrics(t.Context(), "apiserver_request_total")
	if err != nil {
		t.Fatal(err)
	}
	return int(page.Sum("apiserver_request_total", "resource=subjectaccessreviews", "verb=POST"))
}

// ruleChanges returns how often Sluice has forgotten the results of access reviews.
func ruleChanges(t *testing.T) float64 {
	t.Helper()
	page, err := sluice.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return page.Sum("sluice_access_rule_changes_total")
}

// with adds an attribute of the impersonated user.
func with(h http.Header, name string, values ...string) http.Header {
	h = h.Clone()
	h["Impersonate-"+name] = values
	return h
}

// A caller costs the apiserver a few access reviews, however many groups or extra attributes it impersonates, if it may impersonate
// all of them. Otherwise each of them costs one.
func TestImpersonationOfManyCostsFewReviews(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	const ahead = 16 // that are reviewed in vain
	jane := func(groups int) http.Header { return impersonating("jane", manyGroups(groups)...) }
	refused := jane(listedGroups)
	refused["Impersonate-Group"][listedGroups/2] = "not-listed"
	callers, reviews, changes := 0, reviewCount(t), ruleChanges(t)
	for _, tt := range []struct {
		name, kind string
		header     http.Header
		code, most int
	}{
		{"200 groups", "any", jane(200), 200, 3},
		{"480 groups", "any", jane(480), 200, 3},
		{"480 groups of an administrator", "all", jane(480), 200, 3},
		{"a group of no name", "any", impersonating("jane", "by-group", ""), 200, 3},
		{"a service account with 200 groups", "any", impersonating("system:serviceaccount:b:sa", manyGroups(200)...), 200, 3},
		{"a node with 200 groups", "any", impersonating("system:node:n7", manyGroups(200)...), 200, 6},
		{"a UID, 200 values of an extra", "any", with(with(jane(1), "Extra-Scopes", manyGroups(200)...), "Uid", "1"), 200, 5},
		{"2 extras", "any", with(with(jane(1), "Extra-Scopes", manyGroups(99)...), "Extra-Areas", manyGroups(99)...), 200, 6},
		{"an extra besides", "any", with(jane(200), "Extra-Others", manyGroups(200)...), 403, 9},
		{"many extras of an administrator", "all", with(with(with(jane(1), "Extra-A", "1"), "Extra-B", "2"), "Extra-C", "3"), 200, 4},
		{"200 listed groups", "listed", jane(listedGroups), 200, listedGroups + 8},
		{"200 listed groups and one more", "listed", jane(listedGroups + 1), 403, listedGroups + 8},
		{"a group in between is not listed", "listed", refused, 403, listedGroups/2 + ahead + 8},
		{"200 listed values of an extra", "listed", with(jane(1), "Extra-Scopes", manyGroups(listedGroups)...), 200, listedGroups + 8},
		{"one group 200 times", "listed", impersonating("jane", slices.Repeat([]string{"by-group"}, 200)...), 200, 8},
		{"names that are no patterns", "strange", jane(200), 403, ahead + 8},
		{"names that are no patterns, alone", "strange", impersonating("jane", "by-group", "", "*"), 200, 9},
		{"constrained, 200 groups", "constrained", jane(200), 200, 6},
		{"constrained, of system:masters", "constrained", impersonating("jane", append(manyGroups(200), "system:masters")...), 403, 9},
		{"constrained, 200 listed groups", "constrained-listed", jane(listedGroups), 200, listedGroups + 10},
	} {
		for _, way := range []struct{ byCertificate, passes bool }{{false, false}, {true, false}, {true, true}} {
			path := "/api/v1/namespaces/a/pods?resourceVersion=0"
			if way.passes {
				path = "/api/v1/namespaces/a/pods?limit=1&labelSelector=" + strings.Repeat("%21b%2C", 2000) + "%21b" // too long to be served
			}
			t.Run(fmt.Sprintf("%s/certificate %v, passes %v", tt.name, way.byCertificate, way.passes), func(t *testing.T) {
				var want, got answer
				var first, again int
				for settled := false; !settled; { // a change of rules has all reviewed anew
					callers++
					c := newImpersonator(t, tt.kind, fmt.Sprint("caller-", callers), way.byCertificate)
					direct, through := c.clients(t)
					q := harness.Request{Path: path, Header: merged(tt.header)}
					want = ask(t, direct, q)
					got = ask(t, through, q)
					once := reviewCount(t)
					ask(t, through, q)
					twice, last := reviewCount(t), changes
					first, again, reviews = once-reviews, twice-once, twice
					changes = ruleChanges(t)
					settled = changes == last
				}
				if diff := cmp.Diff(want.visible(), got.visible()); diff != "" {
					t.Errorf("(-apiserver +sluice):\n%s", diff)
				}
				if got.code != tt.code {
					t.Errorf("code %d: %s", got.code, got.body)
				}
				if first < 1 || first > tt.most {
					t.Errorf("%d access reviews, 1 to %d were expected", first, tt.most)
				}
				if again > 0 && got.code == http.StatusOK || again > ahead {
					t.Errorf("the same request again: %d access reviews", again)
				}
				t.Logf("%d access reviews", first)
			})
		}
	}
}
