package auth

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
)

// runSome runs a test in which jane may do everything in some namespaces, and RoleBindings propose a, b and c.
func runSome(t *testing.T, test func(*testing.T, *reviewAPI, *Access, *rules)) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
		reviews.may("a", "b")
		for _, ns := range []string{"a", "b", "c"} {
			rbac.bind(ns+"/x", roleBinding(ns, userSubject("jane")))
		}
		time.Sleep(3 * longestPace) // until the changes have settled
		test(t, reviews, access, rbac)
	})
}

// may lets everybody do everything in some namespaces; none has all rights.
func (a *reviewAPI) may(namespaces ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allow = inNamespaces(namespaces...)
}

// someOf returns the namespaces of a read of a caller with the token "a"; nil if it is passed.
func (a *Access) someOf(t *testing.T, path string, header http.Header) (*http.Request, *request.Read, error) {
	t.Helper()
	h := token("a")
	maps.Copy(h, header)
	r := authenticated(t, a, newRequest(path, h))
	read, err := a.MayReadSome(r, readOf(t, r))
	return r, read, err
}

var asks = http.Header{request.NamespacesHeader: {request.NamespacesAllowed}}

func TestReadShowsTheNamespacesThatReviewsAllow(t *testing.T) {
	runSome(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
		reviews.tokens["a"] = verified("jane", "team")
		check := func(path string, header http.Header, want ...string) {
			t.Helper()
			_, read, err := access.someOf(t, path, header)
			var got []string
			if read != nil {
				got = read.Namespaces
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s shows %v, %v, want %v", path, got, err, want)
			}
		}
		check("/api/v1/pods", nil)
		check("/api/v1/pods", asks, "a", "b")
		check("/api/v1/pods?watch=1&labelSelector=x", asks, "a", "b")
		check("/api/v1/namespaces", asks, "a", "b")
		check("/api/v1/namespaces/a/pods", asks)
		check("/api/v1/namespaces/a/pods/x", asks)
		check("/api/v1/namespaces/a", asks)
		access.SetSome(func(user string, groups []string, agent string) bool {
			return user == "jane" && slices.Contains(groups, "team") && agent == "k9s"
		})
		check("/api/v1/pods", nil)
		check("/api/v1/pods", http.Header{"User-Agent": {"k9s"}}, "a", "b")

		reviews.may("c", "d")
		rbac.bind("c/y", roleBinding("c", rbacv1.Subject{Kind: "Group", Name: "team"}))
		time.Sleep(3 * longestPace)
		check("/api/v1/pods", asks, "c")
		reviews.may()
		time.Sleep(3 * allowTTL)
		check("/api/v1/pods", asks)
	})
}

func TestReviewsOfAReadHaveNoSelectors(t *testing.T) {
	runSome(t, func(t *testing.T, reviews *reviewAPI, access *Access, _ *rules) {
		_, _, _ = access.someOf(t, "/api/v1/pods?labelSelector=x", asks)
		_, before := reviews.counts()
		_, _, _ = access.someOf(t, "/api/v1/pods?labelSelector=y&fieldSelector=spec.nodeName%3Dz", asks)
		if _, n := reviews.counts(); n != before || before != 3 {
			t.Errorf("%d reviews, then %d", before, n)
		}
	})
}

func TestReviewThatFailsOrUnknownRoleBindingsFailTheWholeRead(t *testing.T) {
	const unknown = "role bindings are unknown"
	for _, name := range append(slices.Collect(maps.Keys(faults)), unknown) {
		t.Run(name, part(runSome, func(t *testing.T, reviews *reviewAPI, access *Access, _ *rules) {
			authenticated(t, access, newRequest("/api/v1/pods", token("a")))
			reviews.breakWith(faults[name])
			access.Authorizer.changes.bindings.complete = name != unknown
			if _, read, err := access.someOf(t, "/api/v1/pods", asks); err == nil {
				t.Errorf("shows %v", read)
			}
		}))
	}
}

func TestWatchOfSomeNamespacesEndsWhenTheyChange(t *testing.T) {
	for name, tt := range map[string]struct {
		allow func(*authorizationv1.SubjectAccessReviewSpec) bool
		want  func(error) bool
	}{
		"the same": {inNamespaces("a", "b"), nil},
		"a gain":   {inNamespaces("a", "b", "c"), apierrors.IsResourceExpired},
		"a loss":   {inNamespaces("a"), apierrors.IsResourceExpired},
		"another":  {inNamespaces("a", "c"), apierrors.IsResourceExpired},
		"all":      {inNamespaces("", "a", "b", "c"), apierrors.IsResourceExpired},
		"none":     {inNamespaces(), apierrors.IsForbidden},
	} {
		t.Run(name, part(runSome, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
			r, read, err := access.someOf(t, "/api/v1/pods?watch=1", asks)
			if err != nil {
				t.Fatal(err)
			}
			reviews.mu.Lock()
			reviews.allow = tt.allow
			reviews.mu.Unlock()
			rbac.change("roles")
			time.Sleep(3 * longestPace)
			synctest.Wait()
			denied, err := access.StillAllowed(r, read)
			switch {
			case err != nil:
				t.Error(err)
			case tt.want == nil && denied != nil, tt.want != nil && (denied == nil || !tt.want(denied)):
				t.Errorf("ends with %v", denied)
			}
		}))
	}
}

// An apiserver that lags may deny a list, and allow the watch that follows it a moment later.
func TestWatchEndsWhenTheNamespacesOfItsListChange(t *testing.T) {
	runSome(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
		reviews.mu.Lock()
		reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
			return s.ResourceAttributes.Namespace == "a" || s.ResourceAttributes.Namespace == "b" && s.ResourceAttributes.Verb == "watch"
		}
		reviews.mu.Unlock()
		r, read, err := access.someOf(t, "/api/v1/pods?watch=1", asks)
		if err != nil || !slices.Equal(read.Namespaces, []string{"a", "b"}) {
			t.Fatal(read, err)
		}
		read.Listed = []string{"a"}
		if denied, err := access.StillAllowed(r, read); denied != nil || err != nil {
			t.Errorf("ends with %v, %v", denied, err)
		}
		reviews.may("a", "b")
		rbac.change("roles")
		time.Sleep(3 * longestPace)
		if denied, err := access.StillAllowed(r, read); denied == nil || !apierrors.IsResourceExpired(denied) || err != nil {
			t.Errorf("ends with %v, %v", denied, err)
		}
	})
}

func inNamespaces(all ...string) func(*authorizationv1.SubjectAccessReviewSpec) bool {
	return func(s *authorizationv1.SubjectAccessReviewSpec) bool {
		return slices.Contains(all, s.ResourceAttributes.Namespace)
	}
}

// The namespaces in which a caller may write are unknown if nobody follows RoleBindings.
func TestCallerMayWriteSomewhereIfRoleBindingsAreUnknown(t *testing.T) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
			return s.ResourceAttributes.Verb == "list" || s.ResourceAttributes.Namespace == "a"
		}
		for path, want := range map[string]bool{"/api/v1/pods": true, "/api/v1/namespaces/a/pods": true, "/api/v1/namespaces/b/pods": false} {
			r := authenticated(t, access, newRequest(path, token("a")))
			if got, err := access.MayWrite(r, readOf(t, r)); got != want || err != nil {
				t.Errorf("%s: %t, %v", path, got, err)
			}
		}
	})
}

// A caller that has more namespaces than are reviewed may write in one of the others.
func TestCallerMayWriteSomewhereIfNotAllNamespacesAreProposed(t *testing.T) {
	runSome(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
		reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return s.ResourceAttributes.Verb == "list" }
		mayWrite := func() bool {
			r := authenticated(t, access, newRequest("/api/v1/pods", token("a")))
			got, err := access.MayWrite(r, readOf(t, r))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if mayWrite() {
			t.Error("may write in a namespace that is proposed")
		}
		for i := range maxProposed {
			ns := fmt.Sprintf("z-%04d", i)
			rbac.bind(ns+"/x", roleBinding(ns, userSubject("jane")))
		}
		if !mayWrite() {
			t.Error("may write in no namespace that is not proposed")
		}
	})
}

// A caller chooses names as it likes.
func TestOtherNamesCostReviewsOnlyWhereTheWholeIsDenied(t *testing.T) {
	runSome(t, func(t *testing.T, reviews *reviewAPI, access *Access, _ *rules) {
		_, _, _ = access.someOf(t, "/api/v1/pods", asks)
		_, before := reviews.counts()
		_, read, err := access.someOf(t, "/api/v1/pods?fieldSelector=metadata.name%3Dx", asks)
		if err != nil || read == nil || !slices.Equal(read.Namespaces, []string{"a", "b"}) {
			t.Errorf("shows %+v, %v", read, err)
		}
		if _, n := reviews.counts(); n != before+1 {
			t.Errorf("%d more reviews", n-before)
		}
	})
}
