package transcode_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestRequestBodyIsSentAsJSON: after the refusal of its format, the body is sent in JSON, with all
// else as received.
func TestRequestBodyIsSentAsJSON(t *testing.T) {
	tests := []struct {
		name, method, contentType, accept, body string
		requests                                []receivedRequest
		format                                  string
	}{
		{"create", "POST", "application/cbor", "application/json", encode(thing, codec.CBOR), []receivedRequest{
			{"POST", "application/cbor", "application/json", "", encode(thing, codec.CBOR)},
			{"POST", "application/json", "application/json", "", canonical(thing)}}, ""},
		{"both", "PUT", "application/cbor", "application/cbor", encode(thing, codec.CBOR), []receivedRequest{
			{"PUT", "application/cbor", "application/cbor", "", encode(thing, codec.CBOR)},
			{"PUT", "application/json", "application/json", "", canonical(thing)}}, "cbor"},
		{"apply", "PATCH", "application/apply-patch+cbor", "application/json", encode(thing, codec.CBOR), []receivedRequest{
			{"PATCH", "application/apply-patch+cbor", "application/json", "", encode(thing, codec.CBOR)},
			{"PATCH", "application/apply-patch+yaml", "application/json", "", canonical(thing)}}, ""},
		{"YAML", "POST", "application/yaml; charset=utf-8", "application/yaml", encode(thing, codec.YAML), []receivedRequest{
			{"POST", "application/yaml; charset=utf-8", "application/yaml", "", encode(thing, codec.YAML)},
			{"POST", "application/yaml; charset=utf-8", "application/json", "", encode(thing, codec.YAML)},
			{"POST", "application/json", "application/json", "", canonical(thing)}}, "yaml"},
		{"JSON with a CBOR response", "POST", "application/json", "application/cbor", " " + thing, []receivedRequest{
			{"POST", "application/json", "application/cbor", "", " " + thing},
			{"POST", "application/json", "application/json", "", " " + thing}}, "cbor"},
	}
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				server := &jsonServer{respond: respondStored}
				forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
					body := io.Reader(strings.NewReader(tt.body))
					if chunked {
						body = io.MultiReader(body)
					}
					resp := e.Do(t, e.NewRequest(t, tt.method, thingsPath+"?dryRun=All&fieldValidation=Warn",
						http.Header{"Content-Type": {tt.contentType}, "Accept": {tt.accept}}, body))
					got := forwardtest.ReadAll(t, resp.Body)
					if resp.StatusCode != 201 || decode(got, resp.Header.Get("Content-Type")) != canonical(thing) || resp.Header.Get("Content-Type") != tt.accept {
						t.Errorf("got %s %v with %q", resp.Status, resp.Header, got)
					}
					if diff := cmp.Diff(tt.requests, server.takeRequests(), cmp.AllowUnexported(receivedRequest{})); diff != "" {
						t.Errorf("requests (-want +got):\n%s", diff)
					}
					for range tt.requests {
						if uri := e.Next(t).URI; uri != thingsPath+"?dryRun=All&fieldValidation=Warn" {
							t.Errorf("request for %s", uri)
						}
					}
					if info := e.End(t); !info.Outcome.Transcoded || info.Outcome.Format != tt.format {
						t.Errorf("outcome is %+v", info.Outcome)
					}
				})
			})
		}
	}
}

// TestDuplicateFieldsOfYAMLAreReported: the JSON that the upstream receives has no duplicates any
// more, so the warnings and errors come from the transcoder.
func TestDuplicateFieldsOfYAMLAreReported(t *testing.T) {
	const duplicates = "kind: Thing\napiVersion: lab.example.com/v1\nspec:\n  a: 1\n  a: 2\nspec:\n  a: 3\n"
	const message = "Thing in version \"v1\" cannot be handled as a Thing: strict decoding error: yaml: unmarshal errors:\n" +
		"  line 5: key \"a\" already set in map\n  line 7: key \"spec\" already set in map"
	warnings := []string{`299 - "line 5: key \"a\" already set in map"`, `299 - "line 7: key \"spec\" already set in map"`, `299 - "own"`}
	for _, tt := range []struct {
		query, message string
		code           int
		warnings       []string
	}{
		{"", "", 201, warnings},
		{"?fieldValidation=Warn", "", 201, warnings},
		{"?fieldValidation=Ignore", "", 201, warnings[2:]},
		{"?fieldValidation=Strict", message, 400, nil},
	} {
		t.Run(tt.query, func(t *testing.T) {
			server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, body []byte) {
				w.Header().Set("Warning", `299 - "own"`)
				respondStored(w, r, body)
			}}
			e := newEnv(t, server.ServeHTTP)
			h := http.Header{"Content-Type": {"application/yaml"}}
			resp := e.Do(t, e.NewRequest(t, "POST", thingsPath+tt.query, h, strings.NewReader(duplicates)))
			body := forwardtest.ReadAll(t, resp.Body)
			if resp.StatusCode != tt.code || !strings.Contains(body, string(codec.AppendStatus(nil, &apierrors.NewBadRequest(tt.message).ErrStatus, codec.Format{}))) && tt.message != "" {
				t.Errorf("got %s: %s", resp.Status, body)
			}
			if diff := cmp.Diff(tt.warnings, resp.Header["Warning"]); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if requests := server.takeRequests(); (len(requests) == 2) != (tt.code == 201) || tt.code == 201 && !strings.Contains(requests[1].body, `"spec":{"a":3}`) {
				t.Errorf("upstream received %v", requests)
			}
		})
	}
}

// TestMalformedBodyIsABadRequest: the Status equals the apiserver's, and only clients that may
// write get it.
func TestMalformedBodyIsABadRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		contentType, body, message string
		code                       int
	}{
		"duplicate field": {"application/cbor", "\xd9\xd9\xf7\xa2\x41a\x01\x41a\x02", `duplicate map key "a"`, 400},
		"truncated":       {"application/cbor", "\xd9\xd9\xf7\xa2\x41a", "unexpected EOF", 400},
		"trailing data":   {"application/cbor", "\xa0\xa0", "extraneous data", 400},
		"empty":           {"application/cbor", "", "EOF", 400},
		"nested":          {"application/cbor", strings.Repeat("\x81", 20000), "exceeded max nested level", 400},
		"malformed YAML":  {"application/yaml", "a: b: c", "mapping values are not allowed", 400},
		"YAML that grows": {"application/yaml", "a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*a,", 4000) + "]", "limit is 3145728", 413},
		"CBOR that grows": {"application/cbor", "\xa1\x41a\x5a\x00\x10\x00\x00" + strings.Repeat("\x01", 1<<20), "limit is 3145728", 413},
		"long":            {"application/cbor", "\xa1\x41a\x5a\x00\x30\x00\x00" + strings.Repeat("x", transcode.MaxRequest), "limit is 3145728", 413},
	} {
		t.Run(name, func(t *testing.T) {
			server := &jsonServer{respond: respondStored}
			handler := func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer forbidden" {
					writeStatus(w, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("why")))
					return
				}
				if tt.body == "" {
					writeStatus(w, unsupportedMediaType)
					return
				}
				server.ServeHTTP(w, r)
			}
			e := newEnv(t, handler)
			create := func(token, body string) (int, string) {
				h := http.Header{"Content-Type": {tt.contentType}, "Authorization": {"Bearer " + token}}
				resp := e.Do(t, e.NewRequest(t, "POST", thingsPath, h, strings.NewReader(body)))
				return resp.StatusCode, forwardtest.ReadAll(t, resp.Body)
			}
			for range 2 { // the second time, the API is known not to support CBOR
				if code, body := create("allowed", tt.body); code != tt.code || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), tt.message) {
					t.Errorf("got %d: %s", code, body)
				}
				if code, _ := create("forbidden", tt.body); code != 403 {
					t.Errorf("forbidden client: %d", code)
				}
				if tt.body != "" && tt.contentType == "application/cbor" {
					if code, body := create("allowed", encode(thing, codec.CBOR)); code != 201 {
						t.Errorf("valid body: %d: %s", code, body)
					}
				}
			}
			for _, r := range server.takeRequests() {
				if strings.HasPrefix(r.contentType, "application/json") && r.body != canonical(thing) {
					t.Errorf("upstream received %.100q", r.body)
				}
			}
		})
	}
}

// TestEmptyBodyIsNotTranscoded: a Content-Type without a body is ignored.
func TestEmptyBodyIsNotTranscoded(t *testing.T) {
	for _, method := range []string{"GET", "DELETE"} {
		e := newEnv(t, (&jsonServer{respond: respondWith(thing)}).ServeHTTP)
		for range 2 {
			h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
			if resp := e.Do(t, e.NewRequest(t, method, thingsPath+"/a", h, nil)); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/cbor" {
				t.Errorf("%s: %s", method, resp.Status)
			}
		}
	}
}

func TestCutRequestBodyIsNotSent(t *testing.T) {
	server := &jsonServer{respond: respondStored}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
		in, out := io.Pipe()
		req := e.NewRequest(t, "POST", thingsPath, http.Header{"Content-Type": {"application/cbor"}}, in)
		go func() {
			_, _ = io.WriteString(out, encode(thing, codec.CBOR)[:20])
			out.CloseWithError(errors.New("client closed"))
		}()
		if resp, err := e.Client.Do(req); err == nil {
			t.Errorf("response is %s", resp.Status)
			resp.Body.Close()
		}
		if info := e.End(t); info.Outcome.Reason != "client-gone" {
			t.Errorf("reason is %q", info.Outcome.Reason)
		}
		e.ExpectNone(t)
	})
}
