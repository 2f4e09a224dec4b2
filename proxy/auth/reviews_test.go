package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"sluice/proxy/request"
)

// Each of these reviews has a selector of the largest size.
func TestResultsOfReviewsAreBoundedInBytes(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		long := strings.Repeat("x", 8000)
		for i := range 300 {
			allowed(t, access, fmt.Sprintf("/api/v1/pods?labelSelector=%s%%3Dy%d", long[:60], i))
		}
		r := access.Authorizer.reviews
		if perResult := r.kept.used / len(r.kept.entries); perResult > 1000 {
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

// A flood of requests that are reset at once (CVE-2023-44487) must not leave reviews behind.
func TestReviewIsCanceledWhenItsCallersLeave(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		canceled := make(chan struct{})
		reviews.breakWith(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(canceled)
		})
		ctx, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 2 {
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
		reviews.breakWith(nil)
		reviews.tokens["a"] = verified("jane")
		if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "jane" {
			t.Errorf("the next review: %+v", got)
		}
	})
}

// flood starts requests with different unknown tokens from an address, and returns a function that
// waits for them.
func flood(t *testing.T, a *Authenticator, n int, address string) (wait func()) {
	var callers sync.WaitGroup
	for i := range n {
		r := newRequest("/api/v1/pods", token(fmt.Sprint("random", address, i)))
		r.RemoteAddr = address
		callers.Go(func() { authenticate(t, a, r) })
	}
	synctest.Wait()
	return callers.Wait
}

func TestFloodOfUnknownTokensLeavesPlacesToKnownCallers(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a")))
		time.Sleep(3 * DefaultTokenTTL) // the result cannot be used any more
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		wait := flood(t, access.Authenticator, 500, "192.0.2.9:1")
		before, _ := reviews.counts()
		if before != 1+DefaultReviewsInFlight/2 {
			t.Errorf("%d reviews", before)
		}
		reviews.breakWith(nil)
		if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "jane" {
			t.Errorf("a known caller during the flood: %+v", got)
		}
		close(released)
		wait()
	})
}

func TestAddressWithRejectedTokensGetsFewReviews(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		from := func(address, tok string) identity {
			r := newRequest("/api/v1/pods", token(tok))
			r.RemoteAddr = address
			return authenticate(t, access.Authenticator, r)
		}
		from("192.0.2.9:1", "a")
		flood(t, access.Authenticator, 5000, "192.0.2.9:2")()
		n, _ := reviews.counts()
		if most := 1 + DefaultRejectedTokens*rejectedBurst + DefaultReviewsInFlight; n > most {
			t.Errorf("%d reviews, want at most %d", n, most)
		}
		if got := from("192.0.2.9:3", "a"); got.Name != "jane" {
			t.Errorf("known token of the address: %+v", got)
		}
		if got := from("192.0.2.9:3", "b"); got.Kind != request.Unauthenticated {
			t.Errorf("unknown token of the address: %+v", got)
		}
		if got := from("192.0.2.10:1", "b"); got.Name != "joe" {
			t.Errorf("other address: %+v", got)
		}
		time.Sleep(time.Minute)
		reviews.tokens["c"] = verified("jim")
		if got := from("192.0.2.9:3", "c"); got.Name != "jim" {
			t.Errorf("unknown token later: %+v", got)
		}
	})
}

func TestAddressesOfOneNetworkShareAQuota(t *testing.T) {
	if a, b := addressOf("[2001:db8::1]:1"), addressOf("[2001:db8::ffff:2%eth0]:2"); a != b {
		t.Errorf("%v and %v", a, b)
	}
	if a, b := addressOf("[::ffff:192.0.2.1]:1"), addressOf("192.0.2.1:2"); a != b {
		t.Errorf("%v and %v", a, b)
	}
	if a, b := addressOf("192.0.2.1:1"), addressOf("192.0.2.2:1"); a == b {
		t.Error("IPv4 addresses share a quota")
	}
}

// Neither an apiserver that cannot be reached nor a slow one makes a stranger of a known caller.
func TestPositiveResultsHoldForOneMoreTTLWhileReviewsFail(t *testing.T) {
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request){"unreachable": faults["closes the connection"], "slow": slow} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
				reviews.tokens["a"] = verified("jane")
				reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
				if !allowed(t, access, "/api/v1/pods") {
					t.Fatal("not allowed")
				}
				reviews.breakWith(fault)
				time.Sleep(DefaultTokenTTL + DefaultTokenTTL/2)
				start := time.Now()
				if !allowed(t, access, "/api/v1/pods") {
					t.Error("not allowed any more")
				}
				if took := time.Since(start); took > 2*stalePatience {
					t.Errorf("took %v", took)
				}
				time.Sleep(DefaultTokenTTL)
				if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated {
					t.Errorf("after two TTLs: %+v", got)
				}
			})
		})
	}
}

func TestForgottenTokenIsReviewedAgain(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		r := newRequest("/api/v1/pods", token("a"))
		authenticate(t, access.Authenticator, r)
		reviews.tokens["a"] = nil
		access.Authenticator.Forget(r)
		if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated {
			t.Errorf("got %+v", got)
		}
	})
}

func TestReviewErrorsAreUnavailable(t *testing.T) {
	if !unavailable(fmt.Errorf("wrapped: %w", &reviewError{errQuota})) || unavailable(errors.New("invalid bearer token")) {
		t.Error("unavailable and rejected are confused")
	}
}
