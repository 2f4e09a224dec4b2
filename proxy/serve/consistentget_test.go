package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/request"
	"sluice/test/support/servetest"
)

const latestFoo = "/apis/ex.io/v1/namespaces/ns/foos/f000001"

func TestGetOfTheMostRecentState(t *testing.T) {
	for _, row := range []struct {
		law    string
		change func(e *env)
		alone  bool
		reason string
		cached bool
	}{
		{"AlonePasses", func(*env) {}, true, "get-latest", false},
		{"SharesAProofWithOthers", func(*env) {}, false, "up-to-date", true},
		{"PassesWhereItNeedsAnAccessReview", func(e *env) { e.Access.Learned = false }, false, "get-latest", false},
		{"PassesOnceAccessIsRevoked", func(e *env) { e.Access.Allowed = false }, false, "not-allowed", false},
		{"PassesWhereNoStoreIsInSync", func(e *env) { e.Missing = "not-in-sync" }, false, "get-latest", false},
		{"WaitsForTheEventsBeforeIt", func(e *env) {
			e.Apiserver.Set(4, 0)
			time.AfterFunc(7*time.Millisecond, func() { e.Apply(cache.Modified, servetest.Foo(1, 4)) })
		}, false, "own-watch", true},
		{"IsProvenByAnInventory", func(e *env) { e.Apiserver.SetListed(9, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3)) }, false, "roll-call", true},
		{"PassesWithoutACheapProof", func(e *env) { e.Apiserver.Set(9, 9) }, false, "get-latest", false},
		{"PassesWhileTheAPIServerCannotBeReached", func(e *env) { e.Apiserver.Set(0, 0) }, false, "not-proven-in-time", false},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, servetest.Foos(3), Options{})
				e.Access.Learned = true
				if !row.alone {
					defer e.Resource.Fence.Forward(0).End()
				}
				row.change(e)
				outcome := e.Do(httptest.NewRecorder(), e.Request(latestFoo, nil))
				if outcome.Reason != row.reason || (outcome.Source == request.SourceCache) != row.cached || (e.Passed == nil) != row.cached {
					t.Errorf("%+v, want %s", outcome, row.reason)
				}
				if n := e.Resource.Fence.Facts().Reads; (n == 0) != row.alone {
					t.Error("the get is under way after its response")
				}
			})
		})
	}
}

// The object may have been deleted, or changed by an event that is on its way.
func TestGetOfTheMostRecentStateShowsIt(t *testing.T) {
	e := newEnv(t, servetest.Foos(3), Options{})
	defer e.Resource.Fence.Forward(0).End()
	e.Access.Learned = true
	e.Apply(cache.Modified, servetest.Foo(1, 4))
	e.Apiserver.Set(4, 0)
	if got := e.Get(latestFoo, nil).Body.String(); got != string(servetest.Foo(1, 4).Data)+"\n" {
		t.Errorf("got %s after an update", got)
	}
	e.Apply(cache.Deleted, servetest.Foo(1, 5))
	e.Apply(cache.Modified, servetest.Foo(2, 6))
	e.Apiserver.Set(6, 0)
	if w := e.Get(latestFoo, nil); w.Code != http.StatusNotFound {
		t.Errorf("code %d after the deletion", w.Code)
	}
}

// A get that the apiserver may deny neither keeps others from being alone nor spends their allowance.
func TestGetThatNeedsAnAccessReviewCountsForNothing(t *testing.T) {
	for _, learned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, servetest.Foos(3), Options{})
			e.Access.Learned = learned
			e.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n := e.Resource.Fence.Facts().Reads; (n == 0) == learned {
					t.Errorf("another read is alone: %v", !learned)
				}
				w.WriteHeader(http.StatusForbidden)
			})
			e.Do(httptest.NewRecorder(), e.Request(latestFoo, nil))
			if n := e.Resource.Fence.Stats().Forwarded; (n == 1) != learned {
				t.Errorf("%d reads are charged, access is known: %v", n, learned)
			}
		})
	}
}

func TestForwardedReadIsUnderWayUntilItsResponseBegins(t *testing.T) {
	for _, path := range []string{latestFoo, servetest.FooList + "?limit=1"} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, servetest.Foos(3), Options{})
			e.Access.Learned = true
			e.Apiserver.Set(9, 9)
			alone := func() bool { return e.Resource.Fence.Facts().Reads == 0 }
			e.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				e.Passed = r
				w.WriteHeader(http.StatusEarlyHints)
				if alone() {
					t.Error("another read is alone")
				}
				w.WriteHeader(http.StatusOK)
				if !alone() {
					t.Error("another read is not alone while the client reads")
				}
			})
			if e.Do(httptest.NewRecorder(), e.Request(path, nil)); e.Passed == nil || !alone() {
				t.Error("not forwarded, or still under way")
			}
		})
	}
}

// Only an answer of the apiserver that shows the object tells that it has allowed the get.
func TestForwardedGetTellsThatItIsAllowed(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound, http.StatusForbidden, http.StatusServiceUnavailable} {
		e := newEnv(t, servetest.Foos(3), Options{})
		e.Status = status
		e.Do(httptest.NewRecorder(), e.Request(latestFoo, nil))
		if e.Access.Learned != (status == http.StatusOK) {
			t.Errorf("%d: learned %v", status, e.Access.Learned)
		}
	}
	e := newEnv(t, servetest.Foos(3), Options{})
	e.Status = http.StatusOK
	e.Apiserver.Set(9, 9)
	e.Do(httptest.NewRecorder(), e.Request(servetest.FooList, nil))
	if e.Passed == nil || e.Access.Learned {
		t.Error("a list tells that a get is allowed")
	}
}
