package transcode_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/codec"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestSupportedFormatsPassUnchanged: what the upstream supports, and what no format can replace, is
// sent once, as received, and its response is not transcoded.
func TestSupportedFormatsPassUnchanged(t *testing.T) {
	table := `{"kind":"Table","apiVersion":"meta.k8s.io/v1", "rows":[] }`
	tests := []struct {
		name, method, path, accept, contentType, body string
		responseType, response                        string
		code                                          int
	}{
		{name: "CBOR", accept: "application/cbor", responseType: "application/cbor", response: encode(thing, codec.CBOR), code: 200},
		{name: "CBOR body", method: "POST", contentType: "application/cbor", body: encode(thing, codec.CBOR), responseType: "application/cbor", response: "x", code: 201},
		{name: "JSON to a client that accepts both", accept: "application/cbor, application/json;q=0.9", responseType: "application/json", response: " " + thing, code: 200},
		{name: "Table", accept: "application/json" + asTable, responseType: "application/json", response: table, code: 200},
		{name: "indented Table", accept: "application/json" + asTable, responseType: "application/json", response: "{\n  \"kind\": \"Table\",\n  \"rows\": []\n}", code: 200},
		{name: "list to kubectl", accept: "application/json" + asTable + ",application/json", responseType: "application/json", response: thingList, code: 200},
		{name: "text", path: "/healthz", accept: "application/cbor", responseType: "text/plain", response: "ok", code: 200},
		{name: "JSON without kind", path: "/version", accept: "application/yaml", responseType: "application/json", response: `{"major":"1"}`, code: 200},
		{name: "discovery", path: "/apis", accept: "application/cbor", responseType: "application/json", response: `{"kind":"APIGroupList"}`, code: 406},
		{name: "log", path: "/api/v1/namespaces/ns/pods/p/log", accept: "application/cbor", responseType: "application/json", response: `{"line":1}`, code: 200},
		{name: "proxied", path: "/api/v1/namespaces/ns/services/s/proxy/x", accept: "application/yaml", responseType: "application/json", response: `{"kind":"x"}`, code: 200},
		{name: "proxied refusal", path: "/api/v1/namespaces/ns/services/s/proxy/x", accept: "application/yaml", responseType: "application/json", response: `{}`, code: 406},
		{name: "refusal of an unknown format", accept: "text/html", responseType: "application/json", response: `{"code":406}`, code: 406},
		{name: "refused YAML watch", path: thingsPath + "?watch=1", accept: "application/yaml", responseType: "application/json", response: `{"code":406}`, code: 406},
		{name: "refused CBOR Table", accept: "application/cbor" + asTable, responseType: "application/json", response: `{"code":406}`, code: 406},
		{name: "refused Protobuf", method: "POST", contentType: "application/vnd.kubernetes.protobuf", body: "x", responseType: "application/json", response: `{"code":415}`, code: 415},
		{name: "error", accept: "application/cbor", responseType: "application/json", response: `{"code":403}`, code: 403},
		{name: "refusal that may follow a write", method: "DELETE", accept: "application/json" + asMetadata, responseType: "application/json", response: `{"code":406}`, code: 406},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path == "" {
				tt.path = thingsPath
			}
			if tt.method == "" {
				tt.method = "GET"
			}
			var got atomic.Pointer[string]
			handler := func(w http.ResponseWriter, r *http.Request) {
				all, _ := io.ReadAll(r.Body)
				body := string(all)
				got.Store(&body)
				w.Header().Set("Content-Type", tt.responseType)
				w.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.response)
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				h := http.Header{"Accept-Encoding": {"gzip, br"}}
				if tt.accept != "" {
					h.Set("Accept", tt.accept)
				}
				if tt.contentType != "" {
					h.Set("Content-Type", tt.contentType)
				}
				resp := e.Do(t, e.NewRequest(t, tt.method, tt.path, h, strings.NewReader(tt.body)))
				if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != tt.code || body != tt.response || resp.Header.Get("Content-Type") != tt.responseType {
					t.Errorf("got %s with %v: %q", resp.Status, resp.Header, body)
				}
				if encoding := resp.Header.Get("X-Encoding"); encoding != "gzip, br" {
					t.Errorf("upstream received Accept-Encoding %q", encoding)
				}
				e.Next(t)
				e.ExpectNone(t)
				if *got.Load() != tt.body {
					t.Errorf("upstream received %q", *got.Load())
				}
				if info := e.End(t); info.Outcome.Transcoded {
					t.Error("outcome is transcoded")
				}
			})
		})
	}
}

func TestStrictSendsOnce(t *testing.T) {
	server := &jsonServer{respond: respondWith(thing)}
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP, Strict: true})
	if resp := e.Get(t, thingsPath+"/a", acceptHeader("application/cbor")); resp.StatusCode != 406 {
		t.Errorf("response is %s", resp.Status)
	}
	if requests := server.takeRequests(); len(requests) != 1 {
		t.Errorf("upstream received %v", requests)
	}
}

func TestTextInPlaceOfAResponsePasses(t *testing.T) {
	server := &jsonServer{respond: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "Too many requests, please try again later.\n")
	}}
	e := newEnv(t, server.ServeHTTP)
	resp := e.Get(t, thingsPath, acceptHeader("application/cbor"))
	if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != 429 || body != "Too many requests, please try again later.\n" ||
		resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %s with %v: %s", resp.Status, resp.Header, body)
	}
}

// TestErrorThatCannotBeTranscodedPasses includes responses without a body.
func TestErrorThatCannotBeTranscodedPasses(t *testing.T) {
	for _, tt := range []struct {
		code int
		body string
	}{{429, ""}, {503, "nonsense"}, {500, strings.Repeat("[", 300)}, {500, strings.Repeat("x", transcode.MaxError+1)}, {304, ""}, {204, ""}} {
		server := &jsonServer{respond: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(tt.code)
			_, _ = io.WriteString(w, tt.body)
		}}
		e := newEnv(t, server.ServeHTTP)
		resp := e.Get(t, thingsPath, acceptHeader("application/cbor"))
		if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != tt.code || resp.Header.Get("Retry-After") != "7" || body != tt.body {
			t.Errorf("%d: %s %.100q", tt.code, resp.Status, body)
		}
		e.End(t)
		expectNothingTaken(t, e)
	}
}
