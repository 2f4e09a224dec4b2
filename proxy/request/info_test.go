package request

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parsed parses a request given as its method and target.
func parsed(t *testing.T, line string, header http.Header) *Info {
	t.Helper()
	r := read(t, line)
	for name, values := range header {
		r.Header[name] = values
	}
	info, err := Parse(r)
	if err != nil {
		t.Log(err)
	}
	info.ParseName()
	return info
}

func read(t *testing.T, line string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: x\r\n\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseReturnsTheApiserversRequestInfo(t *testing.T) {
	type result struct {
		Verb, Group, Version, Resource, Subresource, Namespace, Name string
		CanonicalPath, LegacyWatchPath                               bool
	}
	tests := []struct {
		line string
		want result
	}{
		{"GET /api/v1/pods", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/namespaces/ns/pods", result{"list", "", "v1", "pods", "", "ns", "", true, false}},
		{"GET /api/v1/namespaces/ns/pods/p", result{"get", "", "v1", "pods", "", "ns", "p", true, false}},
		{"GET /api/v1/namespaces", result{"list", "", "v1", "namespaces", "", "", "", true, false}},
		{"GET /api/v1/namespaces/ns", result{"get", "", "v1", "namespaces", "", "ns", "ns", true, false}},
		{"GET /api/v1/nodes/n", result{"get", "", "v1", "nodes", "", "", "n", true, false}},
		{"GET /apis/apps/v1/namespaces/ns/deployments", result{"list", "apps", "v1", "deployments", "", "ns", "", true, false}},
		{"GET /apis/ex.io/v1/foos/f", result{"get", "ex.io", "v1", "foos", "", "", "f", true, false}},

		{"GET /api/v1/pods?watch=1", result{"watch", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?watch=", result{"watch", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?watch=f", result{"watch", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?watch=FALSE", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?watch=0&watch=1", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?limit=1;watch=1", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?limit=abc&watch=1", result{"watch", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/namespaces/ns/pods/p?watch=1", result{"get", "", "v1", "pods", "", "ns", "p", true, false}},
		{"HEAD /api/v1/pods?watch=1", result{"watch", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/watch/pods", result{"watch", "", "v1", "pods", "", "", "", true, true}},
		{"GET /api/v1/watch/namespaces/ns/pods", result{"watch", "", "v1", "pods", "", "ns", "", true, true}},
		{"GET /api/v1/watch/namespaces/ns/pods/p", result{"watch", "", "v1", "pods", "", "ns", "p", true, true}},
		{"GET /apis/ex.io/v1/watch/foos?watch=1", result{"watch", "ex.io", "v1", "foos", "", "", "", true, true}},
		{"GET /api/v1/proxy/nodes/n", result{"proxy", "", "v1", "nodes", "", "", "n", false, false}},

		// A field selector of one name requires access to that name only.
		{"GET /api/v1/pods?fieldSelector=metadata.name%3Dp", result{"list", "", "v1", "pods", "", "", "p", true, false}},
		{"GET /api/v1/namespaces/ns/pods?watch&fieldSelector=metadata.name=p,spec.nodeName=n", result{"watch", "", "v1", "pods", "", "ns", "p", true, false}},
		{"GET /api/v1/pods?fieldSelector=metadata.name!%3Dp", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?fieldSelector=metadata.name%3Da/b", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/pods?fieldSelector=metadata.name%3Dp&limit=abc", result{"list", "", "v1", "pods", "", "", "", true, false}},

		// Other spellings of a path are not canonical.
		{"GET /api/v1/pods/", result{"list", "", "v1", "pods", "", "", "", false, false}},
		{"GET //api/v1/pods", result{"list", "", "v1", "pods", "", "", "", false, false}},
		{"GET /api/v1//pods", result{"get", "", "v1", "", "", "", "pods", false, false}},
		{"GET /api/v1/namespaces//pods", result{"list", "", "v1", "pods", "", "", "", false, false}},
		{"GET /api/v1/namespaces/ns/pods/p/", result{"get", "", "v1", "pods", "", "ns", "p", false, false}},
		{"GET /api/v1/namespaces/a%2Fb/pods", result{"get", "", "v1", "b", "", "a", "pods", true, false}},
		{"GET /api/v1/%70ods", result{"list", "", "v1", "pods", "", "", "", true, false}},
		{"GET /api/v1/namespaces/ns/pods/p/log", result{"get", "", "v1", "pods", "log", "ns", "p", false, false}},
		{"GET /api/v1/namespaces/ns/status", result{"get", "", "v1", "namespaces", "status", "ns", "ns", false, false}},
		{"GET /api/v1/namespaces/ns/pods/p/proxy/a/b", result{"get", "", "v1", "pods", "proxy", "ns", "p", false, false}},
		{"GET /api/v1/watch", result{Verb: "get", Version: "v1"}},
		{"GET /api/v1/watch/", result{Verb: "get", Version: "v1"}},
		{"GET /api/v1/watch/pods/", result{"watch", "", "v1", "pods", "", "", "", false, true}},

		{"POST /api/v1/namespaces/ns/pods", result{"create", "", "v1", "pods", "", "ns", "", true, false}},
		{"PUT /api/v1/namespaces/ns/pods/p", result{"update", "", "v1", "pods", "", "ns", "p", true, false}},
		{"PATCH /api/v1/namespaces/ns/pods/p/status", result{"patch", "", "v1", "pods", "status", "ns", "p", false, false}},
		{"DELETE /api/v1/namespaces/ns/pods/p", result{"delete", "", "v1", "pods", "", "ns", "p", true, false}},
		{"DELETE /api/v1/namespaces/ns/pods?limit=abc", result{"deletecollection", "", "v1", "pods", "", "ns", "", true, false}},
		{"OPTIONS /api/v1/pods", result{"", "", "v1", "pods", "", "", "", true, false}},

		{"GET /", result{Verb: "get"}},
		{"GET /api", result{Verb: "get"}},
		{"GET /api/v1", result{Verb: "get"}},
		{"GET /apis/apps/v1", result{Verb: "get"}},
		{"GET /openapi/v2?watch=1", result{Verb: "get"}},
		{"GET /healthz/etcd/and/more", result{Verb: "get"}},
		{"BREW /pot", result{Verb: "brew"}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			i := parsed(t, tt.line, nil)
			got := result{i.Verb, i.APIGroup, i.APIVersion, i.Resource, i.Subresource, i.Namespace, i.Name, i.CanonicalPath(), i.LegacyWatchPath}
			if !i.IsResourceRequest {
				got.Group, got.Version = "", ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// For any query Parse and ParseName equal the apiserver's factory, except that the factory logs a query that it
// cannot decode.
func TestParseEqualsTheApiserversAndLogsNothing(t *testing.T) {
	var logged strings.Builder
	klog.SetLogger(funcr.New(func(prefix, args string) { logged.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10}))
	defer klog.ClearLogger()
	queries := []string{
		"", "token=sesame", "limit=sesame", "watch=1&limit=sesame", "watch=sesame&limit=sesame&watch=0", "watch=0&timeoutSeconds=sesame",
		"fieldSelector=sesame", "fieldSelector=metadata.name%3Dp&fieldSelector=x%3Dy", "fieldSelector=metadata.name%3Dp&timeoutSeconds=sesame&watch",
		"labelSelector=sesame+sesame", "labelSelector=a%3Db&limit=sesame&fieldSelector=c%3Dd", "labelSelector=a%3Db&labelSelector=sesame+x",
		"limit=&token=sesame", "limit=1&limit=sesame", "limit=%zz&token=sesame", "limit=sesame;watch=1", "timeoutSeconds=99999999999999999999",
		"allowWatchBookmarks=sesame", "sendInitialEvents=sesame&limit=x", "resourceVersion=sesame", "continue=sesame", "watch=%00&limit=",
		strings.Repeat("token=sesame&", 12000) + "limit=sesame",
	}
	for _, path := range []string{
		"/api/v1/pods", "/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/p", "/apis/ex.io/v1/foos", "/api/v1/watch/pods",
		"/api/v1/watch/namespaces/ns/pods/p", "/api/v1/namespaces/ns/pods/p/log", "/version", "/api/v1/watch",
	} {
		for _, method := range []string{"GET", "HEAD", "DELETE", "POST"} {
			for _, query := range queries {
				line := method + " " + path + "?" + query
				logged.Reset()
				got, err := Parse(read(t, line))
				if logged.Len() > 0 {
					t.Errorf("%.100s: logged %.200s", line, logged.String())
				}
				got.ParseName()
				want, wantErr := factory.NewRequestInfo(read(t, line))
				if diff := cmp.Diff(want, got.RequestInfo); diff != "" || (err == nil) != (wantErr == nil) {
					t.Errorf("%.100s: error %v, want %v (-want +got):\n%s", line, err, wantErr, diff)
				}
			}
		}
	}
}

// The number of parameters that net/url parses differs between Go releases, so the apiserver may see
// parameters that Sluice does not.
func TestTooManyParametersAreNotCanonical(t *testing.T) {
	few := "GET /api/v1/pods?resourceVersion=0&" + strings.Repeat("x&", 100)
	if !parsed(t, few, nil).CanonicalPath() {
		t.Error("a hundred parameters are too many")
	}
	many := "GET /api/v1/pods?resourceVersion=0&labelSelector=a%3Db&" + strings.Repeat("x&", 10000)
	if i := parsed(t, many, nil); i.CanonicalPath() {
		t.Errorf("canonical with %d of 10,002 parameters", len(i.Query))
	}
}

func TestUpgradeIsATokenOfConnection(t *testing.T) {
	tests := []struct {
		connection []string
		want       bool
	}{
		{nil, false},
		{[]string{"Upgrade"}, true},
		{[]string{"upgrade"}, true},
		{[]string{"UPGRADE"}, true},
		{[]string{"keep-alive, Upgrade"}, true},
		{[]string{"keep-alive", " upgrade\t"}, true},
		{[]string{"close,,Upgrade,"}, true},
		{[]string{"Upgrades"}, false},
		{[]string{"Up grade"}, false},
		{[]string{"x-upgrade"}, false},
		{[]string{""}, false},
	}
	for _, tt := range tests {
		i := parsed(t, "GET /api/v1/pods?watch=1", http.Header{"Connection": tt.connection, "Upgrade": {"websocket"}})
		if i.Upgrade != tt.want {
			t.Errorf("%q: %v", tt.connection, i.Upgrade)
		}
	}
	if parsed(t, "GET /api/v1/pods?watch=1", http.Header{"Upgrade": {"websocket"}}).Upgrade {
		t.Error("the header Upgrade without Connection is an upgrade")
	}
}

func TestImpersonationHeadersHaveThePrefix(t *testing.T) {
	for name, want := range map[string]bool{
		"Impersonate-User": true, "Impersonate-Group": true, "Impersonate-Uid": true, "Impersonate-Extra-Scopes": true,
		"Impersonate-Anything": true, "Impersonate": false, "Impersonated-User": false, "X-Impersonate-User": false,
	} {
		if got := parsed(t, "GET /api/v1/pods", http.Header{name: {""}}).Impersonates; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAuditIDIsTheFirstHeaderOrNew(t *testing.T) {
	if id := parsed(t, "GET /api", http.Header{"Audit-Id": {"given", "other"}}).AuditID; id != "given" {
		t.Errorf("got %q", id)
	}
	a, b := parsed(t, "GET /api", nil).AuditID, parsed(t, "GET /api", http.Header{"Audit-Id": {""}}).AuditID
	if a == b || len(a) != 36 || len(b) != 36 {
		t.Errorf("new IDs %q and %q", a, b)
	}
}

func TestQueryTakesFirstValuesAndDropsMalformed(t *testing.T) {
	q := parsed(t, "GET /api/v1/pods?limit=1&limit=2&labelSelector=%zz&watch;b=c&continue=e%20f", nil).Query
	if q.Get("limit") != "1" || q.Has("labelSelector") || q.Has("watch") || q.Get("continue") != "e f" {
		t.Errorf("got %v", q)
	}
}

func TestContextCarriesInfo(t *testing.T) {
	info := parsed(t, "GET /api/v1/pods", nil)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := From(With(r.Context(), info)); got != info {
		t.Errorf("got %v", got)
	}
}

// A request may have thousands of parameters before anybody knows who sends it.
func TestParametersThatNobodyReadsAreNotKept(t *testing.T) {
	query := "watch=1&limit=%35&limit=6&limit=7&labelSelector=a;b&fieldSelector=%zz&conti%6Eue=x&timeout"
	want := url.Values{"watch": {"1"}, "limit": {"5", "6"}, "continue": {"x"}, "timeout": {""}}
	for i := range 900 {
		query += fmt.Sprintf("&p%d=%d&watch=%d", i, i, i)
	}
	want["watch"] = []string{"1", "0"}
	info, err := Parse(read(t, "GET /api/v1/pods?"+query))
	if err != nil || !reflect.DeepEqual(info.Query, want) {
		t.Errorf("%v, %v", info.Query, err)
	}
	all, _ := url.ParseQuery(query)
	for name := range parameters {
		if info.Query.Get(name) != all.Get(name) {
			t.Errorf("%s is %q, url.ParseQuery has %q", name, info.Query.Get(name), all.Get(name))
		}
	}
	if info, _ = Parse(read(t, "GET /api/v1/pods?watch=1"+strings.Repeat("&a", maxQueryParameters))); len(info.Query) > 0 || info.Verb != "list" {
		t.Errorf("%v of a query with too many parameters, %s", info.Query, info.Verb)
	}
}

// TestOnlySessionsSwitchProtocols: the apiserver ignores that others ask for it, and they must not pass as sessions, which
// take no seats.
func TestOnlySessionsSwitchProtocols(t *testing.T) {
	ask := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	for request, want := range map[string]bool{
		"GET /api/v1/pods":                                       false,
		"GET /api/v1/namespaces/a/pods/p":                        false,
		"GET /api/v1/namespaces/a/pods/p/status":                 false,
		"POST /api/v1/namespaces/a/serviceaccounts/s/token":      false,
		"POST /api/v1/namespaces/a/pods":                         false,
		"GET /openapi/v2":                                        false,
		"GET /apis":                                              false,
		"GET /apis/apps/v1/namespaces/a/deployments/d/scale":     false,
		"GET /api/v1/pods?watch=1":                               true,
		"GET /api/v1/watch/pods":                                 true,
		"POST /api/v1/namespaces/a/pods/p/exec":                  true,
		"GET /api/v1/namespaces/a/pods/p/attach":                 true,
		"POST /api/v1/namespaces/a/pods/p/portforward":           true,
		"GET /api/v1/namespaces/a/pods/p/log":                    true,
		"GET /api/v1/nodes/n/proxy/x":                            true,
		"GET /api/v1/namespaces/a/services/s/proxy":              true,
		"GET /apis/sub.ex.io/v1/namespaces/a/machines/m/console": true,
	} {
		if got := parsed(t, request, ask).Upgrade; got != want {
			t.Errorf("%s: %v", request, got)
		}
	}
}
