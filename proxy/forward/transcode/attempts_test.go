package transcode_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestAttemptsFollowRefusals has an upstream that refuses with the given codes, one after the
// other, before it accepts. An attempt is written as "Content-Type -> Accept", without
// "application/".
func TestAttemptsFollowRefusals(t *testing.T) {
	const table = "json" + asTable
	for _, tt := range []struct {
		name, method, contentType, accept string
		refusals                          []int
		want                              []string
	}{
		{"supported", "POST", "cbor", "cbor", nil, []string{"cbor -> cbor"}},
		{"response", "POST", "json", "cbor", []int{406}, []string{"json -> cbor", "json -> json"}},
		{"body", "POST", "cbor", "json", []int{415}, []string{"cbor -> json", "json -> json"}},
		{"CBOR response implies CBOR body", "PUT", "cbor", "cbor", []int{406}, []string{"cbor -> cbor", "json -> json"}},
		{"CBOR body implies CBOR response", "PUT", "cbor", "cbor", []int{415}, []string{"cbor -> cbor", "json -> json"}},
		{"YAML response, then body", "POST", "yaml", "yaml", []int{406, 415}, []string{"yaml -> yaml", "yaml -> json", "json -> json"}},
		{"YAML body, then response", "POST", "yaml", "yaml", []int{415, 406}, []string{"yaml -> yaml", "json -> yaml", "json -> json"}},
		{"refused again", "POST", "json", "yaml", []int{406, 406}, []string{"json -> yaml", "json -> json"}},
		{"all refused", "POST", "yaml", "cbor", []int{406, 415, 415}, []string{"yaml -> cbor", "yaml -> json", "json -> json"}},
		{"Table of a write may be refused too late", "POST", "yaml", table, []int{406}, []string{"yaml -> " + table}},
		{"body of such a write", "POST", "yaml", table, []int{415, 406}, []string{"yaml -> " + table, "json -> " + table}},
		{"refused by the router", "GET", "json", "*" + asTable, []int{406}, []string{"json -> *" + asTable}},
		{"nothing to replace", "POST", "vnd.kubernetes.protobuf", "json", []int{415}, []string{"vnd.kubernetes.protobuf -> json"}},
		{"other refusal", "POST", "cbor", "cbor", []int{403}, []string{"cbor -> cbor"}},
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
			body := thing
			if tt.contentType == "cbor" {
				body = encode(thing, codec.CBOR)
			}
			r := httptest.NewRequest(tt.method, thingsPath, strings.NewReader(body))
			r.Header = http.Header{"Content-Type": {"application/" + tt.contentType}, "Accept": {"application/" + tt.accept}}
			info, err := request.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			info.Caller = request.BearerToken
			tr := transcode.New()
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
			r = r.WithContext(request.With(r.Context(), info))
			e := tr.Begin(r)
			defer e.End()
			resp, err := e.RoundTrip(r, transcode.Body{Bytes: []byte(body), Complete: true}, send)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !slices.Equal(got, tt.want) {
				t.Errorf("attempts %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWebhookDenialIsNotRetried(t *testing.T) {
	for _, code := range []int{406, 415} {
		e := newEnv(t, func(w http.ResponseWriter, _ *http.Request) {
			writeStatus(w, &apierrors.StatusError{ErrStatus: metav1.Status{Message: `admission webhook "w" denied the request: 415: Unsupported Media Type`, Code: int32(code)}})
		})
		if resp := post(t, e, "application/cbor", "application/cbor", encode(thing, codec.CBOR)); resp.StatusCode != code {
			t.Errorf("response is %s", resp.Status)
		}
		e.Next(t)
		e.ExpectNone(t)
	}
}

func TestAnonymousBodyIsDecodedOnlyAfterRefusal(t *testing.T) {
	server := &jsonServer{respond: respondStored}
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.Unauthenticated, Handler: server.ServeHTTP})
	for range 2 {
		post(t, e, "application/cbor", "", encode(thing, codec.CBOR))
		if requests := server.takeRequests(); len(requests) != 2 || requests[0].contentType != "application/cbor" {
			t.Errorf("requests %v", requests)
		}
	}
}
