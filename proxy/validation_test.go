package proxy

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"sluice/proxy/request"
)

// sendText sends the text of HTTP/1.1 requests and returns the responses until the connection ends.
func (e *env) sendText(t *testing.T, text string) []*http.Response {
	t.Helper()
	conn := e.dialTLS(t, "http/1.1")
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	var responses []*http.Response
	for in := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return responses
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		responses = append(responses, resp)
	}
}

// A proxy in front of Sluice may see another end of these requests, and take what follows for the
// beginning of another client's request (RFC 9112, section 11.2).
func TestConnectionEndsAfterARequestThatMayBeMisframed(t *testing.T) {
	const next = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	tests := map[string]struct {
		text string
		code int
	}{
		"length and encoding":         {"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200},
		"encoding and length":         {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n0\r\n\r\n", 200},
		"folded encoding":             {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 200},
		"HTTP/1.0":                    {"GET /api HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200},
		"HTTP/1.0 with an encoding":   {"GET /api HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 200},
		"refused":                     {"GET /api/../x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"two lengths":                 {"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 400},
		"signed length":               {"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\nbody", 400},
		"unknown encoding":            {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
		"two encodings":               {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 501},
		"encoding with a tab":         {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400},
		"space before the colon":      {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
		"folded header":               {"POST /api HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\nImpersonate-User\r\n : admin\r\n\r\n", 400},
		"two hosts":                   {"GET /api HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
		"line feed in a chunk length": {"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\n\r\n", 400}, // CVE-2025-22871
	}
	passed := 0
	apiserver := func(_ http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); n != 0 || err != nil || r.ContentLength > 0 {
			t.Errorf("%d bytes of %d pass, %v", n, r.ContentLength, err)
		}
		passed++
	}
	run(t, drainOf(0, 0), apiserver, func(t *testing.T, e *env) {
		for name, row := range tests {
			passed = 0
			responses := e.sendText(t, row.text+next)
			if len(responses) != 1 || responses[0].StatusCode != row.code || (passed == 1) != (row.code == http.StatusOK) {
				t.Errorf("%s: %d passed; %v", name, passed, responses)
			}
		}
		text := "GET /api HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		if responses := e.sendText(t, text); len(responses) != 2 {
			t.Errorf("%d responses to two requests", len(responses))
		}
	})
}

// HTTP/2 has no upgrades and no connection headers.
func TestConnectionHeadersOverHTTP2AreRefused(t *testing.T) {
	run(t, drainOf(0, 0), func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%v passed", r.Header) }, func(t *testing.T, e *env) {
		for _, field := range []hpack.HeaderField{
			{Name: "connection", Value: "Upgrade"}, {Name: "connection", Value: "impersonate-user"}, {Name: "upgrade", Value: "SPDY/3.1"},
			{Name: "keep-alive", Value: "5"}, {Name: "transfer-encoding", Value: "chunked"}, {Name: "proxy-connection", Value: "x"},
			{Name: "Impersonate-User", Value: "admin"}, {Name: "x-remote-user ", Value: "admin"},
			{Name: "x-remote-user", Value: "admin\r\nimpersonate-user: x"},
		} {
			c := e.dialHTTP2(t)
			if err := c.get(1, c.encode("/version", field)); err != nil {
				t.Fatal(err)
			}
			if end := c.read(1); end.status == "200" || end.err != nil {
				t.Errorf("%s: %+v", field, end)
			}
		}
	})
}

func TestAmbiguousRequestIsRefusedAndCounted(t *testing.T) {
	run(t, drainOf(0, 0), func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s passed", r.URL) }, func(t *testing.T, e *env) {
		for name, head := range map[string]string{
			"Connection: Authorization":                     "GET /api HTTP/1.1\r\nAuthorization: Bearer x\r\nConnection: Authorization",
			"Connection: Impersonate-User (CVE-2021-31999)": "GET /api HTTP/1.1\r\nImpersonate-User: x\r\nConnection: close, impersonate-user",
			"upgrade to h2c":                                "GET /api HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c",
			"two selectors":                                 "DELETE /api/v1/namespaces/a/pods?labelSelector=a&labelSelector=b HTTP/1.1",
		} {
			responses := e.sendText(t, head+"\r\nHost: x\r\n\r\n")
			if len(responses) != 1 || responses[0].StatusCode != http.StatusBadRequest || responses[0].Header.Get("Audit-Id") == "" {
				t.Errorf("%s: %v", name, responses)
			}
		}
		for _, line := range e.log.FilterMessage("request").All() {
			fields := line.ContextMap()
			if fields["source"] != request.SourceGateway || fields["reason"] != reasonAmbiguous {
				t.Errorf("logged %v", fields)
			}
		}
	})
}

func TestTextsOfClientsAreCutInLogs(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	a, _ := respond(http.MethodGet, "/"+long, http.Header{"Audit-Id": {long}, "User-Agent": {long}}, false, forwarded(200))
	resource, _ := respond(http.MethodGet, "/apis/"+long+"/"+long+"/namespaces/"+long+"/"+long+"/"+long+"/"+long, nil, false, forwarded(200))
	for _, line := range append(a.log.All(), resource.log.All()...) {
		for key, value := range line.ContextMap() {
			if text, ok := value.(string); ok && len(text) > 300 {
				t.Errorf("%s has %d bytes", key, len(text))
			}
		}
	}
}
