package auth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"sluice/proxy/request"
)

// Each of these reviews has a selector of the largest size.
func TestResultsOfReviewsAreBoundedInBytes(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		long := strings.Repeat("x", 8000)
		for i := range 300 {
			allowed(t, access, fmt.Sprintf("/api/v1/pods?labelSelector=%s%%3Dy%d", long[:60], i))
		}
		r := access.Authorizer.reviews
		if perResult := r.negative.used / len(r.negative.entries); perResult > 1000 {
			t.Errorf("a result takes %d bytes", perResult)
		}
	})
	kept := newResults[int](10 * entryBytes)
	for i := range 100 {
		kept.put(digest{byte(i)}, result[int]{value: i})
	}
	if _, ok := kept.get(digest{99}); !ok || kept.used > kept.limit || len(kept.entries) != 10 || kept.recent.Len() != 10 {
		t.Errorf("%d bytes, %d results", kept.used, len(kept.entries))
	}
	kept.put(digest{100}, result[int]{bytes: kept.limit})
	if kept.used != 0 {
		t.Errorf("%d bytes after a result that is too large", kept.used)
	}
}

// hangs is a fault that lasts until the test closes the channel or the request is canceled.
func hangs(released chan struct{}) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
			w.WriteHeader(http.StatusInternalServerError)
		case <-r.Context().Done():
		}
	}
}

// Concurrent requests share a review. A flood of them that is reset at once (CVE-2023-44487) must not leave it behind.
func TestSharedReviewIsCanceledWhenItsCallersLeave(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		canceled := make(chan bool, 50)
		reviews.breakWith(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			canceled <- true
		})
		ctx, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range cap(canceled) {
			r := newRequest("/api/v1/pods", token("a"))
			callers.Go(func() {
				authenticate(t, access.Authenticator, r.WithContext(request.With(ctx, request.From(r.Context()))))
			})
		}
		synctest.Wait()
		leave()
		callers.Wait()
		start := time.Now()
		<-canceled
		if time.Since(start) > 0 {
			t.Error("the review goes on")
		}
		synctest.Wait()
		made := access.Authenticator.tokens.reviews.metrics
		if n, _ := reviews.counts(); n != 1 {
			t.Errorf("%d reviews", n)
		}
		if canceled, failed := testutil.ToFloat64(made.canceled), testutil.ToFloat64(made.failed); canceled != 1 || failed != 0 {
			t.Errorf("%v reviews count as canceled and %v as failed, which fires an alert", canceled, failed)
		}
		reviews.breakWith(nil)
		reviews.tokens["a"] = verified("jane")
		if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "jane" {
			t.Errorf("the next review: %+v", got)
		}
	})
}

// Neither an apiserver that cannot be reached nor a slow one makes a known caller unknown.
func TestPositiveResultsHoldForOneMoreTTLWhileReviewsFail(t *testing.T) {
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request){"unreachable": faults["closes the connection"], "slow": slow} {
		t.Run(name, part(runAllowed, func(t *testing.T, reviews *reviewAPI, access *Access) {
			if !allowed(t, access, "/api/v1/pods") {
				t.Fatal("not allowed")
			}
			reviews.breakWith(fault)
			time.Sleep(tokenTTL + tokenTTL/2)
			start := time.Now()
			if !allowed(t, access, "/api/v1/pods") {
				t.Error("not allowed any more")
			}
			if took := time.Since(start); took > 2*stalePatience {
				t.Errorf("took %v", took)
			}
			time.Sleep(tokenTTL)
			if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated {
				t.Errorf("after two TTLs: %+v", got)
			}
		}))
	}
}

// Otherwise known callers ask an apiserver that fails as often as they read.
func TestReviewThatFailedIsNotRepeatedAtOnce(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		read := func() identity {
			return authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a")))
		}
		read()
		failed := 0
		reviews.breakWith(func(w http.ResponseWriter, _ *http.Request) {
			failed++
			w.WriteHeader(http.StatusInternalServerError)
		})
		time.Sleep(tokenTTL)
		const every = 10 * time.Millisecond
		for range (tokenTTL - every) / every {
			time.Sleep(every)
			if got := read(); got.Name != "jane" {
				t.Fatalf("got %+v", got)
			}
		}
		if most := int(tokenTTL / failedPause); failed < most/2 || failed > most {
			t.Errorf("%d reviews in %v", failed, tokenTTL)
		}
		failed = 0
		for range tokenTTL / every {
			time.Sleep(every)
			if got := read(); got.Kind != request.Unauthenticated || !got.Unreviewed {
				t.Fatalf("after two TTLs: %+v", got)
			}
		}
		if most := int(tokenTTL / failedPause); failed < most/2 || failed > most {
			t.Errorf("%d reviews in %v of a token that is known no longer", failed, tokenTTL)
		}
	})
}

// The apiserver may have answered a review that runs before it rejected the token.
func TestForgottenTokenIsReviewedAgain(t *testing.T) {
	for name, delay := range map[string]time.Duration{"after its review": 0, "while it is reviewed": time.Second} {
		run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"], reviews.delay = verified("jane"), delay
			var before sync.WaitGroup
			before.Go(func() { authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))) })
			synctest.Wait()
			reviews.mu.Lock()
			reviews.tokens["a"] = nil
			reviews.mu.Unlock()
			access.Authenticator.Forget(newRequest("/api/v1/pods", token("a")))
			before.Wait()
			if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated {
				t.Errorf("forgotten %s: got %+v", name, got)
			}
		})
	}
}
