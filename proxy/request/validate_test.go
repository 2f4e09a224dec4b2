package request

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func validate(t *testing.T, line string, header http.Header) error {
	t.Helper()
	r := read(t, line)
	if header != nil {
		r.Header = header
	}
	info, _ := Parse(r)
	return Validate(r, &info.Parsed, func(name string) bool { return strings.EqualFold(name, "X-My-User") })
}

func TestAmbiguousRequestsAreRejected(t *testing.T) {
	tests := []struct {
		name, line string
		header     http.Header
	}{
		{"dot segment", "GET /api/v1/./pods", nil},
		{"dot-dot segment", "GET /api/v1/nodes/../pods", nil},
		{"encoded dot segment", "GET /api/v1/nodes/%2e%2E/pods", nil},
		{"dot segment at the end", "GET /api/v1/nodes/..", nil},
		{"dot segment before a proxied path", "GET /api/v1/namespaces/../services/web/proxy/x", nil},
		{"encoded slash", "GET /api/v1/namespaces/a%2Fpods", nil},
		{"encoded slash in a name", "GET /api/v1/namespaces/a/pods/x%2flog", nil},
		{"dot segment of no resource", "GET /healthz/../api", nil},
		{"repeated label selector", "GET /api/v1/pods?labelSelector=a%3Db&labelSelector=c%3Dd", nil},
		{"repeated label selector, encoded", "GET /api/v1/pods?labelSelector=a%3Db&label%53elector=c%3Dd", nil},
		{"repeated field selector", "DELETE /api/v1/namespaces/a/pods?fieldSelector=&fieldSelector=x%3Dy", nil},
		{"repeated shard selector", "GET /api/v1/pods?shardSelector=a&shardSelector=b", nil},
		{"malformed label selector", "DELETE /api/v1/namespaces/a/pods?labelSelector=%zz", nil},
		{"selector with a semicolon", "GET /api/v1/pods?labelSelector=a%3Db;x", nil},
		{"selector after a semicolon", "GET /api/v1/pods?limit=1;labelSelector=a%3Db", nil},
		{"too many parameters, GO-2026-4976", "GET /api/v1/pods?" + strings.Repeat("x&", 10000) + "labelSelector=a", nil},
		{"Connection: Authorization", "GET /api", http.Header{"Connection": {"Authorization"}}},
		{"Connection: Impersonate-User, CVE-2021-31999", "GET /api", http.Header{"Connection": {"keep-alive, impersonate-user"}}},
		{"Connection: X-Remote-Group, CVE-2022-23652", "GET /api", http.Header{"Connection": {"close", "X-REMOTE-GROUP"}}},
		{"Connection: a configured name", "GET /api", http.Header{"Connection": {"x-my-user"}}},
		{"Connection: the websocket token", "GET /api", http.Header{"Connection": {"Upgrade, Sec-WebSocket-Protocol"}, "Upgrade": {"websocket"}}},
		{"Connection: X-Forwarded-For", "GET /api", http.Header{"Connection": {"X-Forwarded-For"}}},
		{"Connection: Content-Length", "GET /api", http.Header{"Connection": {"Content-Length"}}},
		{"two tokens", "GET /api", http.Header{"Authorization": {"Bearer a", "Bearer b"}}},
		{"two users to impersonate", "GET /api", http.Header{"Impersonate-User": {"a", "b"}}},
		{"two UIDs to impersonate", "GET /api", http.Header{"Impersonate-Uid": {"a", "b"}}},
		{"two content types", "POST /api/v1/namespaces", http.Header{"Content-Type": {"application/json", "application/yaml"}}},
		{"upgrade to h2c", "GET /api", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"h2c"}}},
		{"upgrade to two protocols", "GET /api", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket, h2c"}}},
		{"upgrade to two protocols in two lines", "GET /api", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket", "h2c"}}},
		{"upgrade to nothing", "GET /api", http.Header{"Connection": {"Upgrade"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := validate(t, tt.line, tt.header); !apierrors.IsBadRequest(err) {
				t.Errorf("got %v, want a 400", err)
			}
		})
	}
	t.Run("upgrade with a body", func(t *testing.T) {
		r := read(t, "POST /api/v1/namespaces/a/pods/p/exec")
		r.Header, r.ContentLength = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}, 4
		info, _ := Parse(r)
		if err := Validate(r, &info.Parsed, func(string) bool { return false }); !apierrors.IsBadRequest(err) {
			t.Errorf("got %v, want a 400", err)
		}
	})
	t.Run("targets that are no paths", func(t *testing.T) {
		for _, r := range []*http.Request{
			{Method: http.MethodConnect, URL: &url.URL{Host: "evil.example:443"}},
			{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Opaque: "evil.example"}},
			{Method: http.MethodOptions, URL: &url.URL{Path: "*"}},
		} {
			r.Header = http.Header{}
			info, _ := Parse(r)
			if err := Validate(r, &info.Parsed, func(string) bool { return false }); !apierrors.IsBadRequest(err) {
				t.Errorf("%s %v: got %v, want a 400", r.Method, r.URL, err)
			}
		}
	})
}

func TestUnambiguousRequestsAreAccepted(t *testing.T) {
	tests := []struct {
		line   string
		header http.Header
	}{
		{"GET /", nil},
		{"GET /api/v1/pods/", nil},
		{"GET //api//v1/pods", nil},
		{"GET /api/v1/%70ods", nil},
		{"GET /api/v1/namespaces/a/pods/...", nil},
		{"GET /api/v1/namespaces/ns/services/https:web:443/proxy/a/../b%2Fc//d?labelSelector=a&labelSelector=b;c", nil},
		{"GET /api/v1/pods?labelSelector=a%3Db&fieldSelector=c%3Dd&limit=1&limit=2", nil},
		{"GET /api/v1/pods?limit=1;watch=1&%zz=1", nil},
		{"POST /api/v1/namespaces/a/pods/p/exec?" + strings.Repeat("command=x&", 2000), nil},
		{"GET /api", http.Header{"Connection": {"keep-alive, Close", "TE", "Keep-Alive", ""}, "Accept": {"a", "b"}}},
		{"GET /api", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"WebSocket"}, "Sec-Websocket-Protocol": {"v5.channel.k8s.io", "v4.channel.k8s.io"}}},
		{"POST /api/v1/namespaces/a/pods/p/portforward", http.Header{"Connection": {"upgrade"}, "Upgrade": {"spdy/3.1"}}},
		{"GET /api", http.Header{"Upgrade": {"h2c"}}}, // without Connection it is ignored
	}
	for _, tt := range tests {
		if err := validate(t, tt.line, tt.header); err != nil {
			t.Errorf("%.80s with %v: %v", tt.line, tt.header, err)
		}
	}
}

func TestCanonicalQueryHasTheParsedParametersInOrder(t *testing.T) {
	for query, want := range map[string]string{
		"":                               "",
		"a=1&b=2&a=3":                    "a=1&b=2&a=3",
		"b&a=&c":                         "b&a=&c",
		"&&a=1&&":                        "a=1",
		"limit=1;watch=1&a=1":            "a=1", // CVE-2022-2880
		"%70retty=1&x=pretty":            "pretty=1&x=pretty",
		"pretty=1&%70retty=0":            "pretty=1&pretty=0",
		"%zz=1&a=%zz&b=1":                "b=1",
		"labelSelector=a+in+(b,c)%2Cd":   "labelSelector=a+in+%28b%2Cc%29%2Cd",
		"label%53elector=a%3Db&=x":       "labelSelector=a%3Db&=x",
		"a=%26b%3D1%00%0d%0A#&c=\xff%ff": "a=%26b%3D1%00%0D%0A%23&c=%FF%FF",
	} {
		got := CanonicalQuery(query, false)
		if got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
		parsed, _ := url.ParseQuery(query)
		again, err := url.ParseQuery(got)
		if diff := cmp.Diff(parsed, again); diff != "" || err != nil {
			t.Errorf("%q: %v (-parsed +parsed again):\n%s", query, err, diff)
		}
		if strings.ContainsAny(got, ";") {
			t.Errorf("%q: %q", query, got)
		}
	}
}

// Encoded anew, %70retty=1 would have the effect at the apiserver that it did not have before.
func TestParameterWithoutEffectIsLeftOut(t *testing.T) {
	for _, tt := range []struct {
		query   string
		proxied bool
		want    string
	}{
		{"%70retty=1&limit=2", false, "limit=2"},
		{"limit=2&prett%79", false, "limit=2"},
		{"%70retty=1&x=pretty", false, "pretty=1&x=pretty"},
		{"%70retty=1", true, "pretty=1"}, // for a server behind the subresource proxy
		{"=1", false, "=1"},
	} {
		if got := CanonicalQuery(tt.query, tt.proxied); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.query, got, tt.want)
		}
	}
}

// What Sluice takes for well-formed must be what net/url parses, here and at the apiserver.
func FuzzMalformedPairsAreThoseThatParseQueryDrops(f *testing.F) {
	for _, pair := range []string{"", "a", "a=b", "a=b=c", "=", "a=%3D", "a=%3d%2F", "%61=b", "a=%", "a=%3", "a=%zz", "%zz=a", "a=%%33", "a;b", "a=b;c=d", "a=+", "a=\x00", "a=%00%ff", "ü=%C3%BC"} {
		f.Add(pair)
	}
	f.Fuzz(func(t *testing.T, pair string) {
		pair, _, _ = strings.Cut(pair, "&")
		_, err := url.ParseQuery(pair)
		if got := malformed(pair); got != (err != nil) {
			t.Errorf("%q is malformed: %v; ParseQuery: %v", pair, got, err)
		}
	})
}

// BenchmarkValidate validates a list with selectors, as every request is before it is authenticated.
func BenchmarkValidate(b *testing.B) {
	r := &http.Request{Method: http.MethodGet, Header: http.Header{}, URL: &url.URL{
		Path: "/api/v1/pods", RawQuery: "fieldSelector=spec.nodeName%3Dnode-1&labelSelector=app%3Dx%2Ctier+in+%28a%2Cb%29&limit=500&resourceVersion=0",
	}}
	info, err := Parse(r)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(r, &info.Parsed, func(string) bool { return false }); err != nil {
			b.Fatal(err)
		}
	}
}
