package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/request"
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
		{"PassesWhereItNeedsAnAccessReview", func(e *env) { e.access.learned = false }, false, "get-latest", false},
		{"PassesOnceAccessIsRevoked", func(e *env) { e.access.allowed = false }, false, "not-allowed", false},
		{"PassesWhereNoStoreIsInSync", func(e *env) { e.missing = "not-in-sync" }, false, "get-latest", false},
		{"WaitsForTheEventsBeforeIt", func(e *env) {
			e.apiserver.set(4, 0)
			time.AfterFunc(ownWatchWait/2, func() { e.apply(cache.Modified, foo(1, 4)) })
		}, false, "own-watch", true},
		{"IsProvenByARollCall", func(e *env) { e.apiserver.setListed(9, foo(0, 1), foo(1, 2), foo(2, 3)) }, false, "roll-call", true},
		{"PassesWithoutACheapProof", func(e *env) { e.apiserver.set(9, 9) }, false, "get-latest", false},
		{"PassesWhileTheAPIServerCannotBeReached", func(e *env) { e.apiserver.set(0, 0) }, false, "not-proven-in-time", false},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, foos(3), Options{})
				e.access.learned = true
				if !row.alone {
					defer e.resource.Fence.Begin(0).End()
				}
				row.change(e)
				outcome := e.serve(httptest.NewRecorder(), e.request(latestFoo, nil))
				if outcome.Reason != row.reason || (outcome.Source == request.SourceCache) != row.cached || (e.passed == nil) != row.cached {
					t.Errorf("%+v, want %s", outcome, row.reason)
				}
				if r := e.resource.Fence.Begin(0); r.Alone() != row.alone {
					t.Error("the get is under way after its response")
				}
			})
		})
	}
}

// The object may have been deleted, or changed by an event that is on its way.
func TestGetOfTheMostRecentStateShowsIt(t *testing.T) {
	e := newEnv(t, foos(3), Options{})
	defer e.resource.Fence.Begin(0).End()
	e.access.learned = true
	e.apply(cache.Modified, foo(1, 4))
	e.apiserver.set(4, 0)
	if got := e.get(latestFoo, nil).Body.String(); got != string(foo(1, 4).Data)+"\n" {
		t.Errorf("got %s after an update", got)
	}
	e.apply(cache.Deleted, foo(1, 5))
	e.apply(cache.Modified, foo(2, 6))
	e.apiserver.set(6, 0)
	if w := e.get(latestFoo, nil); w.Code != http.StatusNotFound {
		t.Errorf("code %d after the deletion", w.Code)
	}
}

// A get that the apiserver may deny neither keeps others from being alone nor spends their allowance.
func TestGetThatNeedsAnAccessReviewCountsForNothing(t *testing.T) {
	for _, learned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, foos(3), Options{})
			e.access.learned = learned
			e.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if r := e.resource.Fence.Begin(0); r.Alone() == learned {
					t.Errorf("another read is alone: %v", !learned)
				} else {
					r.End()
				}
				w.WriteHeader(http.StatusForbidden)
			})
			e.serve(httptest.NewRecorder(), e.request(latestFoo, nil))
			if n := e.resource.Fence.Stats().Delegated; (n == 1) != learned {
				t.Errorf("%d reads are charged, access is known: %v", n, learned)
			}
		})
	}
}

func TestForwardedReadIsUnderWayUntilItsResponseBegins(t *testing.T) {
	for _, path := range []string{latestFoo, fooList + "?limit=1"} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, foos(3), Options{})
			e.access.learned = true
			e.apiserver.set(9, 9)
			alone := func() bool {
				r := e.resource.Fence.Begin(0)
				defer r.End()
				return r.Alone()
			}
			e.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				e.passed = r
				w.WriteHeader(http.StatusEarlyHints)
				if alone() {
					t.Error("another read is alone")
				}
				w.WriteHeader(http.StatusOK)
				if !alone() {
					t.Error("another read is not alone while the client reads")
				}
			})
			if e.serve(httptest.NewRecorder(), e.request(path, nil)); e.passed == nil || !alone() {
				t.Error("not forwarded, or still under way")
			}
		})
	}
}

// Only an answer of the apiserver that shows the object tells that it has allowed the get.
func TestForwardedGetTellsThatItIsAllowed(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound, http.StatusForbidden, http.StatusServiceUnavailable} {
		e := newEnv(t, foos(3), Options{})
		e.status = status
		e.serve(httptest.NewRecorder(), e.request(latestFoo, nil))
		if e.access.learned != (status == http.StatusOK) {
			t.Errorf("%d: learned %v", status, e.access.learned)
		}
	}
	e := newEnv(t, foos(3), Options{})
	e.status = http.StatusOK
	e.apiserver.set(9, 9)
	e.serve(httptest.NewRecorder(), e.request(fooList, nil))
	if e.passed == nil || e.access.learned {
		t.Error("a list tells that a get is allowed")
	}
}
