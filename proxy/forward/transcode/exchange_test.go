package transcode_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestRefusedResponseFormatIsAskedForAsJSON has an upstream that refuses with the given codes, one after the other, before
// it accepts. A request is written as "Content-Type -> Accept", without "application/".
func TestRefusedResponseFormatIsAskedForAsJSON(t *testing.T) {
	const table = "json" + asTable
	for _, tt := range []struct {
		name, method, contentType, accept string
		refusals                          []int
		want                              []string
	}{
		{"supported", "POST", "cbor", "cbor", nil, []string{"cbor -> cbor"}},
		{"response", "POST", "json", "cbor", []int{406}, []string{"json -> cbor", "json -> json"}},
		{"body", "POST", "cbor", "cbor", []int{415}, []string{"cbor -> cbor"}},
		{"response, then body", "PUT", "cbor", "cbor", []int{406, 415}, []string{"cbor -> cbor", "cbor -> json"}},
		{"refused again", "POST", "json", "yaml", []int{406, 406}, []string{"json -> yaml", "json -> json"}},
		{"drop", "GET", "json", "cbor;drop=metadata.managedFields", []int{406}, []string{
			"json -> cbor;drop=metadata.managedFields", "json -> json;drop=metadata.managedFields",
		}},
		{"drop of a Table", "GET", "json", "yaml;drop=metadata.managedFields" + asTable, []int{406}, []string{
			"json -> yaml;drop=metadata.managedFields" + asTable,
			"json -> json;drop=metadata.managedFields" + asTable + ",json;drop=metadata.managedFields",
		}},
		{"a projection of Sluice alone", "GET", "json", "cbor;drop=spec", []int{406}, []string{"json -> cbor;drop=spec", "json -> json"}},
		{"Table of a write may be refused too late", "POST", "json", table, []int{406}, []string{"json -> " + table}},
		{"refused by the router", "GET", "json", "*" + asTable, []int{406}, []string{"json -> *" + asTable}},
		{"other refusal", "POST", "json", "cbor", []int{403}, []string{"json -> cbor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			refusals := tt.refusals
			send := func(r *http.Request) (*http.Response, error) {
				short := strings.NewReplacer("application/", "")
				got = append(got, short.Replace(r.Header.Get("Content-Type")+" -> "+r.Header.Get("Accept")))
				w := httptest.NewRecorder()
				w.Header().Set("Content-Type", codec.MediaJSON)
				if len(refusals) > 0 {
					w.WriteHeader(refusals[0])
					refusals = refusals[1:]
				}
				_, _ = io.WriteString(w, thing)
				return w.Result(), nil
			}
			r := httptest.NewRequest(tt.method, thingsPath, strings.NewReader(thing))
			r.Header = http.Header{"Content-Type": {"application/" + tt.contentType}, "Accept": {"application/" + tt.accept}}
			info, err := request.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			info.Caller = request.BearerToken
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(thing)), nil }
			r = r.WithContext(request.With(r.Context(), info))
			e := transcode.Begin(r)
			defer e.End()
			resp, err := e.RoundTrip(r, send)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !slices.Equal(got, tt.want) {
				t.Errorf("requests %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRepeatedRequestIsTheSame but for the format of its response.
func TestRepeatedRequestIsTheSame(t *testing.T) {
	const uri, body = thingsPath + "?dryRun=All&fieldValidation=Warn", " " + thing
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunked %v", chunked), func(t *testing.T) {
			server := &jsonServer{respond: respondStored}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
				sent := io.Reader(strings.NewReader(body))
				if chunked {
					sent = io.MultiReader(sent)
				}
				resp := e.Do(t, e.NewRequest(t, "POST", uri, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/cbor"}}, sent))
				got := forwardtest.ReadAll(t, resp.Body)
				if resp.StatusCode != 201 || decode(got, resp.Header.Get("Content-Type")) != canonical(thing) || resp.Header.Get("Content-Type") != "application/cbor" {
					t.Errorf("got %s %v with %q", resp.Status, resp.Header, got)
				}
				want := []receivedRequest{
					{"POST", "application/json", "application/cbor", "", body}, {"POST", "application/json", "application/json", "", body},
				}
				if diff := cmp.Diff(want, server.takeRequests(), cmp.AllowUnexported(receivedRequest{})); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				for range want {
					if got := e.Next(t).URI; got != uri {
						t.Errorf("request for %s", got)
					}
				}
				if info := e.End(t); !info.Outcome.Transcoded || info.Outcome.Format != "cbor" {
					t.Errorf("outcome is %+v", info.Outcome)
				}
			})
		})
	}
}

// TestRefusalOfABodyIsFinal: the client gets it as the apiserver sent it.
func TestRefusalOfABodyIsFinal(t *testing.T) {
	for method, contentType := range map[string]string{"POST": "application/cbor", "PUT": "application/yaml", "PATCH": "application/apply-patch+cbor"} {
		e := newEnv(t, (&jsonServer{respond: respondStored}).ServeHTTP)
		h := http.Header{"Content-Type": {contentType}, "Accept": {"application/cbor,*/*"}}
		resp := e.Do(t, e.NewRequest(t, method, thingsPath, h, strings.NewReader("\xa0")))
		want := string(codec.AppendStatus(nil, &unsupportedMediaType.ErrStatus, codec.Format{}))
		if got := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != 415 || got != want || resp.Header.Get("Content-Type") != codec.MediaJSON {
			t.Errorf("%s of %s: %s with %s", method, contentType, resp.Status, got)
		}
		e.Next(t)
		e.ExpectNone(t)
	}
}

func TestWebhookDenialIsFinal(t *testing.T) {
	for _, code := range []int{406, 415} {
		e := newEnv(t, func(w http.ResponseWriter, _ *http.Request) {
			writeStatus(w, &apierrors.StatusError{ErrStatus: metav1.Status{Message: `admission webhook "w" denied the request: 406: Not Acceptable`, Code: int32(code)}})
		})
		if resp := post(t, e, "application/json", "application/cbor", thing); resp.StatusCode != code {
			t.Errorf("response is %s", resp.Status)
		}
		e.Next(t)
		e.ExpectNone(t)
	}
}

func TestRequestWithoutABodyIsRepeated(t *testing.T) {
	for _, method := range []string{"GET", "DELETE"} {
		e := newEnv(t, (&jsonServer{respond: respondWith(thing)}).ServeHTTP)
		h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
		if resp := e.Do(t, e.NewRequest(t, method, thingsPath+"/a", h, nil)); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/cbor" {
			t.Errorf("%s: %s", method, resp.Status)
		}
	}
}

func TestCutRequestBodyIsNotSent(t *testing.T) {
	server := &jsonServer{respond: respondStored}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: server.ServeHTTP}, func(t *testing.T, e *forwardtest.Env) {
		in, out := io.Pipe()
		req := e.NewRequest(t, "POST", thingsPath, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/cbor"}}, in)
		go func() {
			_, _ = io.WriteString(out, thing[:20])
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
