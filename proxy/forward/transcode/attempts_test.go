package transcode_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/proxy/response"
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
		withoutCBOR                       bool // the API is known not to support CBOR
	}{
		{"supported", "POST", "cbor", "cbor", nil, []string{"cbor -> cbor"}, false},
		{"response", "POST", "json", "cbor", []int{406}, []string{"json -> cbor", "json -> json"}, false},
		{"body", "POST", "cbor", "json", []int{415}, []string{"cbor -> json", "json -> json"}, false},
		{"CBOR response implies CBOR body", "PUT", "cbor", "cbor", []int{406}, []string{"cbor -> cbor", "json -> json"}, false},
		{"CBOR body implies CBOR response", "PUT", "cbor", "cbor", []int{415}, []string{"cbor -> cbor", "json -> json"}, false},
		{"YAML response, then body", "POST", "yaml", "yaml", []int{406, 415}, []string{"yaml -> yaml", "yaml -> json", "json -> json"}, false},
		{"YAML body, then response", "POST", "yaml", "yaml", []int{415, 406}, []string{"yaml -> yaml", "json -> yaml", "json -> json"}, false},
		{"refused again", "POST", "json", "yaml", []int{406, 406}, []string{"json -> yaml", "json -> json"}, false},
		{"all refused", "POST", "yaml", "cbor", []int{406, 415, 415}, []string{"yaml -> cbor", "yaml -> json", "json -> json"}, false},
		{"Table of a write may be refused too late", "POST", "yaml", table, []int{406}, []string{"yaml -> " + table}, false},
		{"body of such a write", "POST", "yaml", table, []int{415, 406}, []string{"yaml -> " + table, "json -> " + table}, false},
		{"refused by the router", "GET", "json", "*" + asTable, []int{406}, []string{"json -> *" + asTable}, false},
		{"nothing to replace", "POST", "vnd.kubernetes.protobuf", "json", []int{415}, []string{"vnd.kubernetes.protobuf -> json"}, false},
		{"other refusal", "POST", "cbor", "cbor", []int{403}, []string{"cbor -> cbor"}, false},
		{"known: CBOR response", "POST", "json", "cbor", nil, []string{"json -> json"}, true},
		{"known: CBOR body", "POST", "cbor", "json", nil, []string{"json -> json"}, true},
		{"known: YAML", "POST", "yaml", "yaml", nil, []string{"yaml -> yaml"}, true},
		{"known: metadata of a write", "POST", "yaml", "cbor" + asMetadata, []int{415, 406},
			[]string{"yaml -> json" + asMetadata + ",json", "json -> json" + asMetadata + ",json"}, true},
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
			if tt.withoutCBOR {
				tr.AddUnsupported(info)
			}
			r, release := tr.Begin(httptest.NewRecorder(), r.WithContext(request.With(r.Context(), info)))
			defer release()
			resp, err := tr.RoundTrip(r, send)
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
	for range 2 { // the second time, the API is known not to support CBOR
		post(t, e, "application/cbor", "", encode(thing, codec.CBOR))
		if requests := server.takeRequests(); len(requests) != 2 || requests[0].contentType != "application/cbor" {
			t.Errorf("requests %v", requests)
		}
	}
}

// TestUnsupportedFormatIsRememberedForItsTime: per API, and only for CBOR.
func TestUnsupportedFormatIsRememberedForItsTime(t *testing.T) {
	var now atomic.Int64
	server := &jsonServer{respond: respondWith(thing)}
	e := forwardtest.New(t, forwardtest.Settings{
		Caller: request.BearerToken, Handler: server.ServeHTTP,
		Transcoder: transcode.NewAt(func() time.Time { return time.Unix(now.Load(), 0) }),
	})
	for _, step := range []struct {
		after    time.Duration
		path     string
		accept   string
		attempts int
	}{
		{0, thingsPath, "application/cbor", 2},
		{0, thingsPath, "application/cbor", 1},
		{0, thingsPath + "/a?watch=0", "application/cbor" + asMetadata, 1},
		{0, thingsPath, "application/yaml", 2},
		{0, thingsPath, "application/yaml, application/cbor", 2}, // YAML may be supported
		{0, "/apis/lab.example.com/v2/things", "application/cbor", 2},
		{0, "/api/v1/pods", "application/cbor", 2},
		{transcode.UnsupportedFor - time.Second, thingsPath, "application/cbor", 1},
		{2 * time.Second, thingsPath, "application/cbor", 2},
	} {
		now.Add(int64(step.after / time.Second))
		resp := e.Get(t, step.path, acceptHeader(step.accept))
		if _ = forwardtest.ReadAll(t, resp.Body); resp.StatusCode != 200 {
			t.Errorf("%s as %s: %s", step.path, step.accept, resp.Status)
		}
		if got := len(server.takeRequests()); got != step.attempts {
			t.Errorf("%s as %s: %d attempts, want %d", step.path, step.accept, got, step.attempts)
		}
	}
}

// TestRefusedMetadataDoesNotMeanUnsupportedCBOR: the apiserver refuses a list as
// PartialObjectMetadata in every encoding.
func TestRefusedMetadataDoesNotMeanUnsupportedCBOR(t *testing.T) {
	e := newEnv(t, func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		switch {
		case strings.HasPrefix(accept, "application/cbor;as=PartialObjectMetadata;"):
			writeStatus(w, response.NewNotAcceptable("you requested PartialObjectMetadata, but the requested object is a list"))
		case accept == "application/cbor":
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = io.WriteString(w, encode(thingList, codec.CBOR))
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, thingList)
		}
	})
	_ = forwardtest.ReadAll(t, e.Get(t, thingsPath, acceptHeader("application/cbor"+asMetadata)).Body)
	e.Next(t)
	e.Next(t)
	_ = forwardtest.ReadAll(t, e.Get(t, thingsPath, acceptHeader("application/cbor")).Body)
	if got := e.Next(t).Header.Get("Accept"); got != "application/cbor" {
		t.Errorf("the next request accepts %s", got)
	}
	e.ExpectNone(t)
}
