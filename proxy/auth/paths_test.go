package auth

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestPathsAreForCallersWithTheRight(t *testing.T) {
	mayGet := func(path string) func(*authorizationv1.SubjectAccessReviewSpec) bool {
		return func(s *authorizationv1.SubjectAccessReviewSpec) bool {
			n := s.NonResourceAttributes
			return s.User == "prometheus" && n != nil && n.Verb == "get" && n.Path == path
		}
	}
	for name, row := range map[string]struct {
		header http.Header
		path   string
		fault  string
		code   int
	}{
		"allowed":            {token("a"), "/metrics", "", 200},
		"another path":       {token("a"), "/configz", "", 403},
		"another user":       {token("b"), "/metrics", "", 403},
		"impersonating":      {http.Header{"Authorization": {"Bearer b"}, "Impersonate-User": {"prometheus"}}, "/metrics", "", 403},
		"rejected token":     {token("x"), "/metrics", "", 401},
		"no token":           {nil, "/metrics", "", 401},
		"no reviews":         {token("a"), "/metrics", "internal error", 503},
		"headers of a proxy": {http.Header{"X-Remote-User": {"prometheus"}}, "/metrics", "", 401},
	} {
		t.Run(name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"], reviews.tokens["b"] = verified("prometheus"), verified("jane")
			reviews.allow = mayGet("/metrics")
			reviews.fault = faults[row.fault]
			served := false
			h := access.WithPathAccess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, row.path, nil)
			maps.Copy(r.Header, row.header)
			h.ServeHTTP(w, r)
			if w.Code != row.code || served != (row.code == http.StatusOK) {
				t.Errorf("%d, served %v", w.Code, served)
			}
			access.SetStaleFor(time.Hour) // or nobody could scrape that the apiserver is away
			reviews.breakWith(faults["internal error"])
			time.Sleep(time.Hour / 2)
			w = httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if again := w.Code == http.StatusOK; again != served {
				t.Errorf("without the apiserver: %d", w.Code)
			}
		}))
	}
}
