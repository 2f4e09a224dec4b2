package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
)

// authenticated returns the request that WithAuthentication passes on.
func authenticated(t *testing.T, a *Access, r *http.Request) (got *http.Request) {
	t.Helper()
	a.Authenticator.WithAuthentication(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

// allowed reports whether a caller with the token "a" may read a path.
func allowed(t *testing.T, a *Access, path string) bool {
	t.Helper()
	return allowedWith(t, a, path, token("a"))
}

// allowedWith reports whether a caller with these headers may read a path.
func allowedWith(t *testing.T, a *Access, path string, header http.Header) bool {
	t.Helper()
	r := authenticated(t, a, newRequest(path, header))
	return a.Allowed(r, readOf(t, r))
}

// Allowed is MayRead without the reason why it is not known.
func (a *Access) Allowed(r *http.Request, read *request.Read) bool {
	allowed, err := a.MayRead(r, read)
	return allowed && err == nil
}

// readOf returns what a request selects.
func readOf(t *testing.T, r *http.Request) *request.Read {
	t.Helper()
	read, err := request.From(r.Context()).Read()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// An authorization webhook may look at every extra attribute, unless the configuration says that none does.
func TestTokensOfAServiceAccountShareAccessReviewsIfTheirExtraIsIgnored(t *testing.T) {
	const scopes = "scopes.example.org"
	status := func(pod, scope string) *authenticationv1.TokenReviewStatus {
		s := verified("system:serviceaccount:ns:agent")
		s.User.Extra = map[string]authenticationv1.ExtraValue{
			serviceaccount.PodNameKey: {pod}, user.CredentialIDKey: {"JTI=" + pod}, scopes: {scope},
		}
		return s
	}
	for _, tt := range []struct {
		ignored []string
		reviews int
	}{
		{nil, 3},
		{[]string{"authentication.kubernetes.io/*"}, 2},
		{[]string{serviceaccount.PodNameKey, user.CredentialIDKey}, 2},
		{[]string{serviceaccount.PodNameKey}, 3},
		{[]string{"authentication.kubernetes.io/", "pod-name"}, 3},
	} {
		t.Run(fmt.Sprint(tt.ignored), part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			access.Authorizer.options.IgnoredExtra = tt.ignored
			reviews.allow = func(spec *authorizationv1.SubjectAccessReviewSpec) bool { return spec.Extra[scopes][0] == "all" }
			reviews.tokens["a"], reviews.tokens["b"], reviews.tokens["c"] = status("x", "all"), status("y", "all"), status("y", "none")
			for name, want := range map[string]bool{"a": true, "b": true, "c": false} {
				if got := allowedWith(t, access, "/api/v1/pods", token(name)); got != want {
					t.Errorf("token %s: %t", name, got)
				}
			}
			if _, n := reviews.counts(); n != tt.reviews {
				t.Errorf("%d access reviews, want %d", n, tt.reviews)
			}
		}))
	}
}

func TestAccessReviewsAreCachedForTheirTTL(t *testing.T) {
	for _, row := range []struct {
		allow bool
		ttl   time.Duration
	}{{true, allowTTL}, {false, denyTTL}} {
		run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"] = verified("jane")
			allow := row.allow
			reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return allow }
			for range 3 {
				if got := allowed(t, access, "/api/v1/pods"); got != row.allow {
					t.Errorf("allowed: %v", got)
				}
				time.Sleep(row.ttl / 4)
			}
			if _, n := reviews.counts(); n != 1 {
				t.Errorf("%d reviews", n)
			}
			for _, other := range []string{"/api/v1/namespaces/x/pods", "/api/v1/pods?watch=1", "/api/v1/secrets", "/api/v1/namespaces/x/pods/y"} {
				_, before := reviews.counts()
				allowed(t, access, other)
				if _, n := reviews.counts(); n != before+1 {
					t.Errorf("no review for %s", other)
				}
			}
			time.Sleep(row.ttl)
			allow = !row.allow
			if got := allowed(t, access, "/api/v1/pods"); got == row.allow {
				t.Error("the result is still cached after its TTL")
			}
			access.Authorizer.SetTTLs(row.ttl/8, row.ttl/8)
			allowed(t, access, "/api/v1/nodes")
			_, before := reviews.counts()
			time.Sleep(row.ttl / 4)
			allowed(t, access, "/api/v1/nodes")
			if _, n := reviews.counts(); n != before+1 {
				t.Error("a result is cached for longer than the new TTL")
			}
		})
	}
}

func TestSelectorsShareTheReviewOfTheWholeRead(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		for _, selector := range []string{"fieldSelector=spec.nodeName%3Da", "fieldSelector=spec.nodeName%3Db", "labelSelector=app"} {
			if !allowed(t, access, "/api/v1/pods?"+selector) {
				t.Errorf("%s is not allowed", selector)
			}
		}
		if len(reviews.accesses) != 1 || reviews.accesses[0].ResourceAttributes.FieldSelector != nil {
			t.Errorf("reviews: %v", reviews.accesses)
		}
	})
}

// The whole read of one name is not what others share.
func TestAReadOfOneNameIsReviewedOnce(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane", "dev")
		if allowed(t, access, "/api/v1/pods?fieldSelector=metadata.name%3Da") || len(reviews.accesses) != 1 {
			t.Errorf("reviews: %v", reviews.accesses)
		}
	})
}

func TestOnlySelectedObjectsCanBeAllowed(t *testing.T) {
	for group, want := range map[string]int{"dev": 2, user.NodesGroup: 1} { // reviews
		run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"] = verified("jane", group)
			reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
				of := s.ResourceAttributes.FieldSelector
				return of != nil && of.Requirements[0].Values[0] == "a"
			}
			if !allowed(t, access, "/api/v1/pods?fieldSelector=spec.nodeName%3Da") {
				t.Errorf("%s may not read what is selected", group)
			}
			if len(reviews.accesses) != want {
				t.Errorf("%s: %d reviews, want %d", group, len(reviews.accesses), want)
			}
			if allowed(t, access, "/api/v1/pods?fieldSelector=spec.nodeName%3Db") {
				t.Errorf("%s may read what others select", group)
			}
		})
	}
}

func TestAccessIsDeniedWhenTheReviewFails(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, part(runAllowed, func(t *testing.T, reviews *reviewAPI, access *Access) {
			r := authenticated(t, access, newRequest("/api/v1/pods", token("a")))
			reviews.breakWith(fault)
			if access.Allowed(r, readOf(t, r)) {
				t.Error("allowed although the review failed")
			}
			reviews.breakWith(nil)
			time.Sleep(denyTTL + time.Second) // some faults count as a denial, which is cached
			if !access.Allowed(r, readOf(t, r)) {
				t.Error("not allowed after recovery")
			}
		}))
	}
}

func TestUnauthenticatedCallersAreDeniedWithoutReview(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		r := authenticated(t, access, newRequest("/api/v1/pods", nil))
		if request.From(r.Context()).Caller != request.Unauthenticated || access.Allowed(r, readOf(t, r)) {
			t.Error("an unauthenticated caller is allowed to read")
		}
		if _, n := reviews.counts(); n != 0 {
			t.Errorf("%d reviews", n)
		}
	})
}

// Each of thousands of watches is checked again every half minute, which is most of what is allocated meanwhile.
func TestRecheckCopiesNoToken(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		const rechecks = 100
		long := strings.Repeat("a", maxToken)
		reviews.tokens[long] = verified("jane")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		r := authenticated(t, access, newRequest("/api/v1/pods?watch=1", token(long)))
		read := readOf(t, r)
		if !access.Allowed(r, read) {
			t.Fatal("not allowed")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rechecks {
			if denied, err := access.StillAllowed(r, read); denied != nil || err != nil {
				t.Fatal(denied, err)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / rechecks; each > maxToken/2 {
			t.Errorf("%d bytes are allocated for a recheck", each)
		}
	})
}

func TestWatchIsStillAllowedWhileUserAndRightsAreUnchanged(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*reviewAPI)
		want   int // the code of the denial; 0 for none
		fails  bool
	}{
		{"nothing changes", func(*reviewAPI) {}, 0, false},
		{"token revoked", func(a *reviewAPI) { a.tokens["a"] = nil }, 401, false},
		{"token of another user", func(a *reviewAPI) { a.tokens["a"] = verified("joe") }, 401, false},
		{"right revoked", func(a *reviewAPI) { a.allow = nil }, 403, false},
		{"token without the group that has the right", func(a *reviewAPI) {
			a.tokens["a"] = verified("jane", "visitors")
			a.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return slices.Contains(s.Groups, "dev") }
		}, 403, false},
		{"apiserver unreachable", func(a *reviewAPI) { a.fault = faults["closes the connection"] }, 0, true},
	} {
		t.Run(row.name, part(runAllowed, func(t *testing.T, reviews *reviewAPI, access *Access) {
			r := authenticated(t, access, newRequest("/api/v1/pods?watch=1", token("a")))
			if !access.Allowed(r, readOf(t, r)) {
				t.Fatal("not allowed")
			}
			time.Sleep(2*allowTTL + time.Second)
			reviews.mu.Lock()
			row.change(reviews)
			reviews.mu.Unlock()
			denied, err := access.StillAllowed(r, readOf(t, r))
			got := 0
			if denied != nil {
				got = int(denied.Status().Code)
			}
			if got != row.want || (err != nil) != row.fails {
				t.Errorf("got %v, %v", denied, err)
			}
		}))
	}
}

// recalled reports whether a caller is known to be allowed to read a path, and learns that it is.
func recalled(t *testing.T, a *Access, path string, header http.Header) bool {
	t.Helper()
	r := authenticated(t, a, newRequest(path, header))
	known, learn := a.Recall(r, readOf(t, r))
	learn()
	return known
}

func TestLearnedAccessIsKnownWithoutReviewForTheTTL(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		const path = "/api/v1/namespaces/x/pods/y"
		if recalled(t, access, path, token("a")) {
			t.Error("known before it was learned")
		}
		if !recalled(t, access, path, token("a")) || !allowed(t, access, path) {
			t.Error("not known after it was learned")
		}
		for other, header := range map[string]http.Header{
			path: token("b"), "/api/v1/namespaces/x/pods/z": token("a"), "/api/v1/namespaces/z/pods/y": token("a"),
			"/api/v1/namespaces/x/secrets/y": token("a"), "/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dy": token("a"),
		} {
			if recalled(t, access, other, header) {
				t.Errorf("%s of %v is known", other, header)
			}
		}
		time.Sleep(allowTTL)
		if recalled(t, access, path, token("a")) {
			t.Error("known after the TTL")
		}
		if _, accesses := reviews.counts(); accesses != 0 {
			t.Errorf("%d reviews", accesses)
		}
	})
}

func TestDeniedAccessIsNotRecalled(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		r := authenticated(t, access, newRequest("/api/v1/namespaces/x/pods/y", token("a")))
		if access.Allowed(r, readOf(t, r)) {
			t.Fatal("allowed")
		}
		if known, _ := access.Recall(r, readOf(t, r)); known {
			t.Error("a denied access is known to be allowed")
		}
	})
}

// A change of access rules invalidates what was learned before it, and what is learned after it from a
// request that began before.
func TestChangeOfAccessRulesInvalidatesWhatWasLearned(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		const path = "/api/v1/namespaces/x/pods/y"
		r := authenticated(t, access, newRequest(path, token("a")))
		_, learnLate := access.Recall(r, readOf(t, r))
		recalled(t, access, path, token("a"))
		access.Authorizer.changes.happened()
		learnLate()
		if known, _ := access.Recall(r, readOf(t, r)); known {
			t.Error("known after the change")
		}
	})
}

func TestWhatIsLearnedIsNoMoreThanTheApiserverHasAllowed(t *testing.T) {
	const watch = "/api/v1/namespaces/x/pods?watch=1"
	for name, row := range map[string]struct {
		header         http.Header
		allowed, asked string
	}{
		// The right to impersonate has a review of its own, beside the read of the impersonated user.
		"impersonation": {impersonating("a", "joe"), "/api/v1/namespaces/x/pods/y", "/api/v1/namespaces/x/pods/y"},
		// Reviews have no requirements of some operators, so that they are of more.
		"some pods": {token("a"), watch + "&labelSelector=weight%3E5", watch},
	} {
		run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"] = verified("jane")
			recalled(t, access, row.allowed, row.header)
			if recalled(t, access, row.asked, row.header) {
				t.Errorf("%s: %s is known", name, row.asked)
			}
		})
	}
}
