package security

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"sluice/test/harness"
)

// TestForgedContinueTokensShowWhatTheApiserverShows: a client makes up the version and the first key of a page.
func TestForgedContinueTokensShowWhatTheApiserverShows(t *testing.T) {
	mine, other := plane.Namespace(t), plane.Namespace(t)
	versionOf := func(object []byte) (version int64) {
		t.Helper()
		var o struct {
			Metadata struct {
				ResourceVersion int64 `json:",string"`
			}
		}
		if err := json.Unmarshal(object, &o); err != nil {
			t.Fatal(err)
		}
		return o.Metadata.ResourceVersion
	}
	templates := func(namespace string) string { return "/api/v1/namespaces/" + namespace + "/podtemplates" }
	create := func(namespace string, n int) int64 {
		return versionOf(write(t, http.MethodPost, templates(namespace),
			fmt.Sprintf(`{"metadata":{"name":"t%d"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`, n)))
	}
	for n := range 4 {
		create(mine, n)
		create(other, n)
	}
	plane.Grant(t, mine, harness.User("forger"), rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"podtemplates"}})
	before := create(mine, 4)
	sluice.WaitForCacheSync(t, "/api/v1/podtemplates", "podtemplates.v1")
	write(t, http.MethodDelete, templates(mine)+"/t1", "")
	last := create(mine, 1)
	elsewhere := versionOf(write(t, http.MethodPost, "/api/v1/namespaces/"+mine+"/configmaps", `{"metadata":{"name":"elsewhere"}}`))

	starts := []string{
		"", ".", "..", "/", "//", "~", "\x00", "\xff", "t1\x00", "/t1", "t1/x", "t1\x00/../x", mine, mine + "/t1\x00",
		other, other + "/t1", "/" + other + "/t1", "../" + other + "/t1", "t1/../../" + other + "/t1", mine + "/../" + other + "/t1",
	}
	direct, through := plane.Raw("admin"), sluice.Raw("admin")
	list := func(from *harness.RawClient, user, path, query string) *harness.Response {
		t.Helper()
		q := harness.Request{Path: path + "?" + query, Header: http.Header{"Accept": {"application/json"}}}
		if user != "" {
			q.Header.Set("Impersonate-User", user)
		}
		return do(t, from, q)
	}
	harness.Eventually(t, "access of the forger", func() error {
		exact := fmt.Sprintf("limit=2&resourceVersion=%d", last)
		up, down := list(direct, "forger", templates(mine), exact), list(through, "forger", templates(mine), exact)
		if source := down.Header.Get("Sluice-Source"); up.Status != http.StatusOK || !strings.HasPrefix(source, "cache") {
			return fmt.Errorf("%d from the apiserver, %d from %q", up.Status, down.Status, source)
		}
		return nil
	})
	for _, user := range []string{"", "forger"} {
		for _, path := range []string{templates(mine), "/api/v1/podtemplates"} {
			for _, version := range []int64{-2, -1, 0, 1, before, last - 1, last, elsewhere} {
				for _, start := range starts {
					token, err := json.Marshal(map[string]any{"v": "meta.k8s.io/v1", "rv": version, "start": start})
					if err != nil {
						t.Fatal(err)
					}
					query := "limit=2&continue=" + url.QueryEscape(base64.RawURLEncoding.EncodeToString(token))
					var want, got *harness.Response
					same := false
					for tries := 0; !same && tries < 3; tries++ { // a state of now has another version when others write in between
						want, got = list(direct, user, path, query), list(through, user, path, query)
						same = got.Status == want.Status && bytes.Equal(got.Body, want.Body)
					}
					if !same {
						t.Errorf("%q lists %s with %s: %d %s, want %d %s", user, path, token, got.Status, got.Body, want.Status, want.Body)
					}
					if user != "" && bytes.Contains(got.Body, []byte(`"namespace":"`+other)) {
						t.Errorf("%s lists %s with %s: %s", user, path, token, got.Body)
					}
				}
			}
		}
	}
}
