package auth

import (
	"net/http"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"sluice/proxy/request"
)

// The apiserver cannot be asked, and so RBAC objects cannot be seen to change either.
func TestLastVerdictsHoldForReadsOfAnyVersionWhileTheAPIServerCannotBeAsked(t *testing.T) {
	const staleFor = 5 * time.Minute
	for name, row := range map[string]struct {
		url     string
		after   time.Duration
		changes bool
		want    bool
	}{
		"any version":                     {"/api/v1/pods?resourceVersion=0", staleFor, false, true},
		"any version, a watch":            {"/api/v1/pods?watch=1&resourceVersion=0", staleFor, false, true},
		"any version, too late":           {"/api/v1/pods?resourceVersion=0", staleFor + 2*time.Second + allowTTL, false, false},
		"any version, after a change":     {"/api/v1/pods?resourceVersion=0", allowTTL, true, false},
		"exactly this version":            {"/api/v1/pods?resourceVersion=0&resourceVersionMatch=Exact", staleFor, false, false},
		"not older than a version":        {"/api/v1/pods?resourceVersion=7", staleFor, false, false},
		"the most recent":                 {"/api/v1/pods", staleFor, false, false},
		"the most recent, for one TTL":    {"/api/v1/pods", allowTTL + time.Second, false, true},
		"any version, never asked before": {"/api/v1/nodes?resourceVersion=0", time.Second, false, false},
	} {
		t.Run(name, part(runAllowed, func(t *testing.T, reviews *reviewAPI, access *Access) {
			access.SetStaleFor(staleFor)
			for _, known := range []string{"/api/v1/pods", "/api/v1/pods?watch=1"} {
				if !allowed(t, access, known) {
					t.Fatal("not allowed")
				}
			}
			reviews.breakWith(faults["internal error"])
			if row.changes {
				access.Authorizer.changes.happened()
			}
			time.Sleep(row.after)
			for range 3 { // a review that fails is not repeated at once
				if got := allowed(t, access, row.url); got != row.want {
					t.Errorf("allowed: %v", got)
				}
			}
		}))
	}
}

// They are allowed in some namespaces, and denied in another one and in all together.
func TestLastVerdictsHoldForReadsOfSomeNamespaces(t *testing.T) {
	for name, row := range map[string]struct {
		url  string
		want bool
	}{
		"any version":     {"/api/v1/pods?resourceVersion=0", true},
		"the most recent": {"/api/v1/pods", false}, // the token is unknown then
	} {
		t.Run(name, part(runSome, func(t *testing.T, reviews *reviewAPI, access *Access, _ *rules) {
			access.SetStaleFor(time.Hour)
			for i := range 4 { // a review that fails is not repeated at once
				known := i == 0
				r, some, err := access.someOf(t, row.url, asks)
				all, failed := access.MayRead(r, readOf(t, r))
				shows := some != nil && slices.Equal(some.Namespaces, []string{"a", "b"})
				if err != nil || failed != nil || all || shows != (known || row.want) {
					t.Errorf("known %v: shows %+v, %v, and all: %v, %v", known, some, err, all, failed)
				}
				if known {
					reviews.breakWith(faults["internal error"])
					time.Sleep(time.Hour / 2)
				}
			}
		}))
	}
}

// Its caller would be shown parts of objects that it may write by now.
func TestDenialsOfWritesDoNotLastWhileTheAPIServerCannotBeAsked(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		access.SetStaleFor(time.Hour)
		reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return s.ResourceAttributes.Verb == "list" }
		r := authenticated(t, access, newRequest("/api/v1/namespaces/a/pods?resourceVersion=0", token("a")))
		if got, err := access.MayWrite(r, readOf(t, r)); got || err != nil {
			t.Fatal(got, err)
		}
		reviews.breakWith(faults["internal error"])
		time.Sleep(time.Minute)
		if got, err := access.MayWrite(r, readOf(t, r)); err == nil {
			t.Errorf("may write: %v", got)
		}
	})
}

// Otherwise a crowd that makes reviews slow keeps a revoked token alive.
func TestSlowReviewsProlongNoVerdict(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		access.SetStaleFor(time.Hour)
		read := func() identity {
			return authenticate(t, access.Authenticator, newRequest("/api/v1/pods?resourceVersion=0", token("a")))
		}
		read()
		time.Sleep(3 * tokenTTL)
		delete(reviews.tokens, "a")
		reviews.delay = stalePatience + time.Second
		if got := read(); got.Kind != request.Unauthenticated {
			t.Errorf("a revoked token: %+v", got)
		}
	})
}

// A caller can ask for a review that the apiserver refuses as such. It must not prolong verdicts about others.
func TestReviewsThatAreInvalidProlongNoVerdict(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		access.SetStaleFor(time.Hour)
		read := func() (bool, error) {
			r := authenticated(t, access, newRequest("/api/v1/pods?resourceVersion=0", token("a")))
			return access.MayRead(r, readOf(t, r))
		}
		if allowed, err := read(); !allowed || err != nil {
			t.Fatal(allowed, err)
		}
		time.Sleep(3 * allowTTL)
		authenticated(t, access, newRequest("/api/v1/pods", token("a"))) // the token stays known
		reviews.allow = nil
		reviews.breakWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
		r := authenticated(t, access, newRequest("/api/v1/nodes", token("a")))
		if _, err := access.MayRead(r, readOf(t, r)); err == nil {
			t.Fatal("an invalid review is answered")
		}
		reviews.breakWith(nil)
		reviews.delay = stalePatience + time.Second
		if allowed, _ := read(); allowed {
			t.Error("a revoked right counts")
		}
	})
}

// What an open watch shows is as recent as the events that it gets.
func TestRechecksOfWatchesUseNoVerdictsForLonger(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		access.SetStaleFor(time.Hour)
		r := authenticated(t, access, newRequest("/api/v1/pods?watch=1&resourceVersion=0", token("a")))
		read := readOf(t, r)
		if !access.Allowed(r, read) {
			t.Fatal("not allowed")
		}
		reviews.breakWith(faults["internal error"])
		time.Sleep(3 * allowTTL)
		if _, err := access.StillAllowed(r, read); err == nil {
			t.Error("a recheck has not failed")
		}
	})
}
