package auth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"sluice/proxy/limits"
	"sluice/proxy/request"
)

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
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a")))
		time.Sleep(3 * tokenTTL) // the result cannot be used any more
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		wait := flood(t, access.Authenticator, 500, "192.0.2.9:1")
		before, _ := reviews.counts()
		if most := (reviewsInFlight - knownReviews) * 3 / 4; before < most || before > most+1 {
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

// A flood of ever new rejected tokens displaces none that are known to be good.
func TestRejectedTokensDisplaceNoGoodOnes(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a")))
		kept := access.Authenticator.tokens.reviews
		kept.mu.Lock()
		for i := range 2 * minResultBytes / entryBytes {
			kept.put(tokenDigest(fmt.Sprint("bad", i)), result[*authenticator.Response]{ttl: time.Hour})
		}
		used := kept.negative.used
		kept.mu.Unlock()
		reviews.breakWith(faults["closes the connection"])
		if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "jane" || used > negativeBytes {
			t.Errorf("the good token: %+v; the others take %d bytes", got, used)
		}
	})
}

// What waits for a verdict takes a stated amount of memory, and the rest is refused at once.
func TestUnknownTokensHoldABoundedAmountOfMemory(t *testing.T) {
	ledger := limits.NewLedger(2 << 20)
	runWith(t, func(o *AuthenticatorOptions) { o.Unauthenticated = ledger }, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["known"] = verified("jane")
		authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("known")))
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		codes := make(chan int, 1000)
		send := func(tok string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			access.Authenticator.WithAuthentication(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, request.From(r.Context()).User)
			})).ServeHTTP(w, newRequest("/api/v1/pods", token(tok)))
			return w
		}
		for i := range 200 {
			go func() { codes <- send(strings.Repeat("x", maxToken-10) + fmt.Sprint(i)).Code }()
		}
		synctest.Wait()
		if used := ledger.Usage().Held; used < 1<<20 || used > 2<<20 {
			t.Errorf("%d bytes wait", used)
		}
		if n := len(codes); n < 100 {
			t.Errorf("%d were refused at once", n)
		}
		for range len(codes) {
			if code := <-codes; code != http.StatusTooManyRequests {
				t.Errorf("refused with %d", code)
			}
		}
		if w := send("known"); w.Code != http.StatusOK || w.Body.String() != "jane" {
			t.Errorf("a known caller: %d %s", w.Code, w.Body)
		}
		before, _ := reviews.counts()
		if w := send(strings.Repeat("x", maxToken+1)); w.Code != http.StatusUnauthorized {
			t.Errorf("a token that is too long: %d", w.Code)
		}
		if n, _ := reviews.counts(); n != before {
			t.Error("a token that is too long is reviewed")
		}
		close(released)
		synctest.Wait()
		if used := ledger.Usage().Held; used != 0 {
			t.Errorf("%d bytes are left", used)
		}
	})
}

// floodAccess starts n reads of different namespaces by a user, and returns a function that waits for
// them.
func floodAccess(t *testing.T, a *Access, tok string, n int) (wait func()) {
	var callers sync.WaitGroup
	for i := range n {
		r := authenticated(t, a, newRequest(fmt.Sprintf("/api/v1/namespaces/x%d/pods", i), token(tok)))
		read := readOf(t, r)
		callers.Go(func() { a.Allowed(r, read) })
	}
	synctest.Wait()
	return callers.Wait
}

func TestUnknownAccessesOfAUserLeavePlacesToOthers(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		authenticated(t, access, newRequest("/api/v1/pods", token("a")))
		released := make(chan struct{})
		authenticate(t, access.Authenticator, newRequest("/", token("b")))
		reviews.breakWith(hangs(released))
		wait := floodAccess(t, access, "b", 100)
		if _, n := reviews.counts(); n != (reviewsInFlight-knownReviews)*3/4 {
			t.Errorf("%d reviews of one user at a time", n)
		}
		reviews.breakWith(nil)
		start := time.Now()
		if !allowed(t, access, "/api/v1/pods") || time.Since(start) > 0 {
			t.Errorf("another user waited for %v", time.Since(start))
		}
		r := authenticated(t, access, newRequest("/api/v1/pods?watch=1", token("b")))
		if denied, err := access.StillAllowed(r, readOf(t, r)); denied != nil || err != nil || time.Since(start) > 0 {
			t.Errorf("a recheck of the same user: %v, %v after %v", denied, err, time.Since(start))
		}
		close(released)
		wait()
	})
}

// Passed instead, it would cost the apiserver as much.
func TestUnknownTokenWithoutAPlaceIsRefused(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		queue := access.Authenticator.tokens.reviews.queue
		leave, err := queue.Enter(t.Context(), limits.Caller{}, reviewsInFlight)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		access.Authenticator.WithAuthentication(http.NotFoundHandler()).ServeHTTP(w, newRequest("/api/v1/pods", token("a")))
		if w.Code != http.StatusTooManyRequests {
			t.Errorf("a token that got no place: %d", w.Code)
		}
		leave()
		close(released)
	})
}

// Other callers can share the address, behind a load balancer or by address translation: they wait their turn.
func TestATokenWaitsForThoseOfItsAddressAndOthersDoNot(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		reviews.mu.Lock()
		reviews.delay = 10 * time.Millisecond
		reviews.mu.Unlock()
		wait := flood(t, access.Authenticator, 500, "192.0.2.9:1")
		for _, row := range []struct {
			token, from string
			within      time.Duration
		}{{"b", "192.0.2.10:1", 25 * time.Millisecond}, {"a", "192.0.2.9:2", time.Second}} {
			r, start := newRequest("/api/v1/pods", token(row.token)), time.Now()
			r.RemoteAddr = row.from
			if got := authenticate(t, access.Authenticator, r); got.Name == "" || time.Since(start) > row.within {
				t.Errorf("%s: %+v after %s", row.from, got, time.Since(start))
			}
		}
		wait()
	})
}
