package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"sluice/proxy/request"
)

// arrived returns the request as the handlers behind WithAuthentication get it.
func arrived(t *testing.T, a *Access, r *http.Request) (got *http.Request) {
	t.Helper()
	a.Authenticator.WithAuthentication(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

// allowed asks whether a caller with the token "a" may read a path.
func allowed(t *testing.T, a *Access, path string) bool {
	t.Helper()
	return a.Allowed(arrived(t, a, asking(path, token("a"))))
}

// The upstream is asked about exactly what the request is about.
func TestAccessIsAskedForExactly(t *testing.T) {
	for path, want := range map[string]*authorizationv1.ResourceAttributes{
		"/api/v1/pods":                                 {Verb: "list", Version: "v1", Resource: "pods"},
		"/api/v1/namespaces/x/pods":                    {Verb: "list", Version: "v1", Resource: "pods", Namespace: "x"},
		"/api/v1/namespaces/x/pods/y":                  {Verb: "get", Version: "v1", Resource: "pods", Namespace: "x", Name: "y"},
		"/api/v1/namespaces/x/pods?watch=1":            {Verb: "watch", Version: "v1", Resource: "pods", Namespace: "x"},
		"/apis/apps/v1/deployments?watch=true":         {Verb: "watch", Version: "v1", Group: "apps", Resource: "deployments"},
		"/api/v1/pods?fieldSelector=metadata.name%3Dy": {Verb: "list", Version: "v1", Resource: "pods", Name: "y"},
		"/api/v1/watch/namespaces/x/pods":              {Verb: "watch", Version: "v1", Resource: "pods", Namespace: "x"},
	} {
		t.Run(path, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["a"] = verified("jane", "dev")
				api.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
				if !allowed(t, access, path) {
					t.Error("not allowed")
				}
				if len(api.accesses) != 1 {
					t.Fatalf("asked %d times", len(api.accesses))
				}
				got := api.accesses[0]
				got.ResourceAttributes.FieldSelector = nil // beside the name that it gives
				if diff := cmp.Diff(want, got.ResourceAttributes); diff != "" || got.User != "jane" || got.UID != "uid-jane" {
					t.Errorf("%s (%s): %s", got.User, got.UID, diff)
				}
			})
		})
	}
}

// A decision is remembered for its time and for nothing else, and forgotten.
func TestDecisionsAreRemembered(t *testing.T) {
	for _, row := range []struct {
		allow bool
		ttl   time.Duration
	}{{true, DefaultAllowTTL}, {false, DefaultDenyTTL}} {
		inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
			api.tokens["a"] = verified("jane")
			allow := row.allow
			api.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return allow }
			for range 3 {
				if got := allowed(t, access, "/api/v1/pods"); got != row.allow {
					t.Errorf("allowed: %v", got)
				}
				time.Sleep(row.ttl / 4)
			}
			if _, n := api.counts(); n != 1 {
				t.Errorf("asked %d times", n)
			}
			for _, other := range []string{"/api/v1/namespaces/x/pods", "/api/v1/pods?watch=1", "/api/v1/secrets", "/api/v1/namespaces/x/pods/y"} {
				_, before := api.counts()
				allowed(t, access, other)
				if _, n := api.counts(); n != before+1 {
					t.Errorf("%s was decided with something else", other)
				}
			}
			time.Sleep(row.ttl)
			allow = !row.allow
			if got := allowed(t, access, "/api/v1/pods"); got == row.allow {
				t.Error("the decision outlives its time")
			}
		})
	}
}

// Without a decision nothing is served, and the next request asks again.
func TestAccessWithoutAnswer(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["a"] = verified("jane")
				api.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
				r := arrived(t, access, asking("/api/v1/pods", token("a")))
				api.breakWith(fault)
				if access.Allowed(r) {
					t.Error("allowed without an answer")
				}
				api.breakWith(nil)
				time.Sleep(DefaultDenyTTL + time.Second) // some are read as a denial
				if !access.Allowed(r) {
					t.Error("not allowed then")
				}
			})
		})
	}
}

func TestUnknownCallersAreNotAskedFor(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
		api.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		if r := arrived(t, access, asking("/api/v1/pods", nil)); request.From(r.Context()).Caller != request.Unauthenticated || access.Allowed(r) {
			t.Error("nobody is allowed to read")
		}
		if _, n := api.counts(); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

// An open watch holds while its caller is who they were, and allowed.
func TestStillAllowed(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*api)
		holds  bool
		fails  bool
	}{
		{"nothing changes", func(*api) {}, true, false},
		{"token revoked", func(a *api) { a.tokens["a"] = nil }, false, false},
		{"token of another", func(a *api) { a.tokens["a"] = verified("joe") }, false, false},
		{"right taken away", func(a *api) { a.allow = nil }, false, false},
		{"upstream away", func(a *api) { a.fault = faults["hangs up"] }, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["a"] = verified("jane")
				api.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
				r := arrived(t, access, asking("/api/v1/pods?watch=1", token("a")))
				if !access.Allowed(r) {
					t.Fatal("not allowed")
				}
				time.Sleep(DefaultAllowTTL + DefaultTokenTTL + time.Second)
				api.mu.Lock()
				row.change(api)
				api.mu.Unlock()
				holds, err := access.StillAllowed(r)
				if holds != row.holds || (err != nil) != row.fails {
					t.Errorf("holds: %v, %v", holds, err)
				}
			})
		})
	}
}
