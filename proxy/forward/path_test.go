package forward_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestPathPassesByteForByteAndQueryAsParsed: the apiserver interprets it, not Sluice. The query is
// encoded anew from the parameters that were parsed, so that no other server parses it differently
// (CVE-2022-2880).
func TestPathPassesByteForByteAndQueryAsParsed(t *testing.T) {
	queries := map[string]string{
		"": "", "?": "?", "?&&": "",
		"?labelSelector=a%3Db%2Cc+in+(d,e)&limit=5": "?labelSelector=a%3Db%2Cc+in+%28d%2Ce%29&limit=5",
		"?b=2&a=1&b=3&&c":              "?b=2&a=1&b=3&c",
		"?limit=1;watch=1&pretty=true": "?pretty=true",
		"?limit=%zz&watch":             "?watch",
		"?x=a?b#not":                   "?x=a%3Fb%23not",
		"?%70retty=1&limit=2":          "?limit=2",
		"?" + strings.Repeat("command=x&", 9000) + "tty=true": "?" + strings.Repeat("command=x&", 9000) + "tty=true",
	}
	targets := map[string]string{
		"/": "/", "/api/v1/pods": "/api/v1/pods", "/api/v1/pods/": "/api/v1/pods/", "//api//v1/pods": "//api//v1/pods",
		"/api/v1/../v1/./pods": "/api/v1/../v1/./pods", "/api/v1/namespaces/a%2Fb/pods": "/api/v1/namespaces/a%2Fb/pods",
		"/api/v1/namespaces/a%2fb/pods": "/api/v1/namespaces/a%2fb/pods", "/api/v1/%70%6Fds": "/api/v1/%70%6Fds",
		"/api/v1/namespaces/ns/services/https:web:443/proxy/a%20b/%25/%3F?x=1": "/api/v1/namespaces/ns/services/https:web:443/proxy/a%20b/%25/%3F?x=1",
		"/api/v1/namespaces/ns/services/web/proxy/?%70retty=1":                 "/api/v1/namespaces/ns/services/web/proxy/?pretty=1",
		"/api/v1/namespaces/ns/services/web/proxy/%C3%BC;v=1,2/[x]":            "/api/v1/namespaces/ns/services/web/proxy/%C3%BC;v=1,2/[x]",
	}
	for query, want := range queries {
		targets["/api/v1/pods"+query] = "/api/v1/pods" + want
	}
	for _, upstreamHTTP1 := range []bool{false, true} {
		for _, prefix := range []string{"", "/", "/clusters/one", "/clusters/one/", "/clusters/a%2Fb", "/clusters/a%2Fb/"} {
			e := forwardtest.New(t, forwardtest.Settings{ClientHTTP1: true, UpstreamHTTP1: upstreamHTTP1, PathPrefix: prefix, Caller: request.BearerToken})
			for target, want := range targets {
				t.Run(fmt.Sprintf("%.40s behind %q", target, prefix), func(t *testing.T) {
					sendRaw(t, e, "GET "+target+" HTTP/1.1\r\nHost: whatever\r\nConnection: close\r\n\r\n")
					want := strings.TrimSuffix(prefix, "/") + want
					if got := e.Next(t); got.URI != want {
						t.Errorf("upstream received %.120q, want %.120q", got.URI, want)
					}
				})
			}
		}
	}
}

// sendRaw sends the text of a request over HTTP/1.1 and returns the status line of the response.
func sendRaw(t *testing.T, e *forwardtest.Env, text string) string {
	t.Helper()
	conn := dial(t, e)
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// dial opens a connection to the gateway for HTTP/1.1.
func dial(t *testing.T, e *forwardtest.Env) *tls.Conn {
	t.Helper()
	config := e.Client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.ServerName = "example.com" // the name in the certificate of httptest
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(t.Context(), "tcp", e.Gateway.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*tls.Conn)
}

func TestClientCannotChooseTheUpstream(t *testing.T) {
	tests := []struct{ name, head, uri string }{
		{"host header", "GET /api HTTP/1.1\r\nHost: evil.example", "/api"},
		{"absolute form", "GET http://evil.example/api?x=1 HTTP/1.1\r\nHost: evil.example", "/api?x=1"},
		{"absolute form without path", "GET https://evil.example HTTP/1.1\r\nHost: evil.example", "/"},
		{"user in authority", "GET https://admin:secret@evil.example/api HTTP/1.1\r\nHost: evil.example", "/api"},
		{"opaque", "GET http:/api HTTP/1.1\r\nHost: evil.example", "/api"},
		{"two slashes", "GET //evil.example/api HTTP/1.1\r\nHost: evil.example", "//evil.example/api"},
		{"forwarded host", "GET /api HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example", "/api"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{ClientHTTP1: true})
			if status := sendRaw(t, e, tt.head+"\r\nConnection: close\r\n\r\n"); !strings.Contains(status, "200") {
				t.Fatal(status)
			}
			got := e.Next(t)
			if want := strings.TrimPrefix(e.Upstream.URL, "https://"); got.URI != tt.uri || got.Host != want {
				t.Errorf("upstream received %q at %q, want %q at %q", got.URI, got.Host, tt.uri, want)
			}
			if found := withPrefix(got.Header, "Authorization"); len(found) > 0 {
				t.Errorf("upstream received %v", found)
			}
		})
	}
}

// TestConnectOpensNoTunnel: CONNECT passes as a request like any other.
func TestConnectOpensNoTunnel(t *testing.T) {
	e := forwardtest.New(t, forwardtest.Settings{ClientHTTP1: true, UpstreamHTTP1: true, Handler: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	}})
	if status := sendRaw(t, e, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"); !strings.Contains(status, "404") {
		t.Errorf("response is %s", status)
	}
	if got, want := e.Next(t), strings.TrimPrefix(e.Upstream.URL, "https://"); got.Host != want {
		t.Errorf("upstream received %q at %q", got.URI, got.Host)
	}
}

// TestHeadersArriveAsDirectly but for those that docs/semantics.md lists, over every protocol.
func TestHeadersArriveAsDirectly(t *testing.T) {
	sent := http.Header{
		"Accept":               {"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json"},
		"Accept-Encoding":      {"br, gzip"},
		"Audit-Id":             {"the-one"},
		"Cookie":               {"a=b; c=d"},
		"Forwarded":            {"for=10.0.0.1;host=outer.example", "for=10.0.0.2"},
		"If-None-Match":        {`"etag"`},
		"Kubectl-Command":      {"kubectl get"},
		"Max-Forwards":         {"3"},
		"Origin":               {"https://page.example"},
		"Te":                   {"trailers"},
		"Traceparent":          {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		"User-Agent":           {"kubectl/v1"},
		"Via":                  {"1.1 outer.example"},
		"X-Empty":              {""},
		"X-Forwarded-Host":     {"outer.example"},
		"X-Forwarded-Port":     {"8443"},
		"X-Forwarded-Prefix":   {"/outer"},
		"X-Forwarded-Proto":    {"http"},
		"X-Forwarded-Uri":      {"/outer/api"},
		"X-Kubernetes-Unknown": {"kept"},
		"X-Real-Ip":            {"10.0.0.4"},
		"X-Stream-Protocol":    {"a", "b"},
	}
	changed := http.Header{"X-Forwarded-For": {"10.0.0.1, 10.0.0.2", "10.0.0.3"}}
	removed := http.Header{
		"Keep-Alive": {"5"}, "Proxy-Authenticate": {"Basic"}, "Proxy-Authorization": {"Basic c2VjcmV0"}, "Proxy-Connection": {"x"},
		"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}, "X-Remote-Uid": {"0"}, "X-Remote-Extra-Scopes": {"all"},
	}
	removedHTTP1 := http.Header{"Connection": {"keep-alive, X-Named"}, "X-Named": {"x"}, "Expect": {"100-continue"}, "Upgrade": {"h2c"}}
	for _, http1 := range []bool{false, true} {
		for caller, name := range map[request.Caller]string{request.BearerToken: "HTTP/2", request.Unauthenticated: "HTTP/1"} {
			t.Run(fmt.Sprintf("HTTP/1 %v to %s", http1, name), func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{ClientHTTP1: http1, Caller: caller})
				receive := func(to string, header http.Header) http.Header {
					r := e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/pods", header, strings.NewReader("{}"))
					r.URL.Host = strings.TrimPrefix(to, "https://")
					e.Do(t, r)
					return e.Next(t).Header
				}
				all := merge(sent, changed, removed)
				if http1 {
					all = merge(all, removedHTTP1)
				}
				want, got := receive(e.Upstream.URL, all), receive(e.Gateway.URL, all)
				for name := range sent {
					if want[name] == nil {
						t.Errorf("%s was not sent", name)
					}
				}
				for name := range merge(removed, removedHTTP1) {
					want.Del(name)
				}
				want.Set("X-Forwarded-For", "10.0.0.1, 10.0.0.2, 10.0.0.3, 127.0.0.1")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-directly +through Sluice):\n%s", diff)
				}
				bare := http.Header{"User-Agent": {""}} // sends no User-Agent
				want, got = receive(e.Upstream.URL, bare), receive(e.Gateway.URL, bare)
				if len(got["Audit-Id"]) != 1 || got.Get("Audit-Id") == "" {
					t.Errorf("Audit-Id: %q", got["Audit-Id"])
				}
				want["X-Forwarded-For"], want["Audit-Id"] = []string{"127.0.0.1"}, got["Audit-Id"]
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("without headers (-directly +through Sluice):\n%s", diff)
				}
			})
		}
	}
}

// TestAuditedAddressesHoldTheClient although the client names others: the apiserver reads the first header only.
func TestAuditedAddressesHoldTheClient(t *testing.T) {
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken})
	e.Get(t, "/api", http.Header{"X-Forwarded-For": {"10.0.0.1", "10.0.0.2"}})
	ips := utilnet.SourceIPs(&http.Request{Header: e.Next(t).Header, RemoteAddr: "10.9.9.9:1"})
	if got, want := fmt.Sprint(ips), "[10.0.0.1 10.0.0.2 127.0.0.1 10.9.9.9]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// withPrefix returns the headers whose names have one of the prefixes.
func withPrefix(h http.Header, prefixes ...string) http.Header {
	out := http.Header{}
	for name, values := range h {
		for _, p := range prefixes {
			if strings.HasPrefix(strings.ToLower(name), strings.ToLower(p)) {
				out[name] = values
			}
		}
	}
	return out
}
