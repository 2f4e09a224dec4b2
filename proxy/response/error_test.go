package response

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
)

func TestErrorIsAStatusThatTheClientAccepts(t *testing.T) {
	for _, tt := range []struct {
		name, accept string
		err          error
		code         int
		contentType  string
		retryAfter   string
		body         string
	}{
		{"plain error", "", errors.New("why"), 500, "application/json", "",
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"why","code":500}` + "\n"},
		{"wrapped error", "", fmt.Errorf("context: %w", apierrors.NewBadRequest("why")), 400, "application/json", "",
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"why","reason":"BadRequest","code":400}` + "\n"},
		{"retry", "application/yaml", apierrors.NewTooManyRequests("later", 3), 429, "application/yaml", "3",
			"apiVersion: v1\ncode: 429\ndetails:\n  retryAfterSeconds: 3\nkind: Status\nmessage: later\nmetadata: {}\nreason: TooManyRequests\nstatus: Failure\n"},
		{"unavailable", "", NewUnavailable("why"), 503, "application/json", "1",
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"why","reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}` + "\n"},
		{"body timeout", "", NewBodyTimeout(), 408, "application/json", "",
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Sluice: the request body was not sent in time; send it again over a faster connection","reason":"Timeout","code":408}` + "\n"},
		{"nothing acceptable", "text/html", NewNotAcceptable("why"), 406, "application/json", "",
			"{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"status\": \"Failure\",\n  \"message\": \"why\",\n  \"reason\": \"NotAcceptable\",\n  \"code\": 406\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
			r.Header.Set("Accept", tt.accept)
			r.Header.Set("User-Agent", "test")
			info := &request.Info{Parsed: request.Parsed{AuditID: "id"}}
			w := httptest.NewRecorder()
			Error(w, r.WithContext(request.With(r.Context(), info)), tt.err)
			h := w.Header()
			if w.Code != tt.code || h.Get("Content-Type") != tt.contentType || h.Get("Retry-After") != tt.retryAfter || h.Get("Audit-Id") != "id" {
				t.Errorf("got %d with %v", w.Code, h)
			}
			if got := w.Body.String(); got != tt.body {
				t.Errorf("got  %q\nwant %q", got, tt.body)
			}
		})
	}
}

// The apiserver reads pretty only if the query has the word before it is decoded.
func TestEncodedNameOfPrettyHasNoEffect(t *testing.T) {
	for query, want := range map[string]string{
		"": "", "pretty=1": "1", "pretty=": "", "%70retty=1": "", "%70retty=1&x=pretty": "1", "x=1&%70retty=1&pretty=0": "1",
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+query, nil)
		info, err := request.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := Negotiation(r, &info.Parsed).Pretty; got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
