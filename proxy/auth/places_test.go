package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

// The apiserver has most of the work of a review before the client who resets its request can cancel it.
func TestPlacesOfCanceledReviewsRest(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.breakWith(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		for i := range 100 {
			ctx, reset := context.WithTimeout(t.Context(), time.Millisecond)
			r := newRequest("/api/v1/pods", token(fmt.Sprint("random", i)))
			authenticate(t, access.Authenticator, r.WithContext(request.With(ctx, request.From(r.Context()))))
			reset()
		}
		made, _ := reviews.counts()
		if most := 24 * (1 + int(time.Since(start)/maxRest)); made > most {
			t.Errorf("%d reviews in %s", made, time.Since(start))
		}
		time.Sleep(reviewTimeout)
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
		time.Sleep(3 * tokenTTL) // the result cannot be used any more
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		wait := flood(t, access.Authenticator, 500, "192.0.2.9:1")
		before, _ := reviews.counts()
		if before != 1+reviewsInFlight/2*3/4 {
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

// exhaust makes an address present more rejected tokens than its quota, and returns a request from it
// with a token.
func exhaust(t *testing.T, a *Authenticator, address string) (from func(token string) *http.Request) {
	flood(t, a, rejectedBurst+reviewsInFlight, address)()
	return func(tok string) *http.Request {
		r := newRequest("/api/v1/pods?watch=1", token(tok))
		r.RemoteAddr = address
		return r
	}
}

// A flood of ever new rejected tokens displaces none that are known to be good.
func TestRejectedTokensDisplaceNoGoodOnes(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
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
	ledger := accounts.New(accounts.Totals{accounts.Unverified: 2 << 20}, math.MaxInt64)
	runWith(t, func(o *AuthenticatorOptions) { o.Accounts = ledger }, func(t *testing.T, reviews *reviewAPI, access *Access) {
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
		if used := ledger.Usage(accounts.Unverified).Used; used < 1<<20 || used > 2<<20 {
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
		if used := ledger.Usage(accounts.Unverified).Used; used != 0 {
			t.Errorf("%d bytes are left", used)
		}
	})
}

// A good token that arrives behind a flood of bad ones from its own address does not wait for all of them.
func TestNewestTokenOfAnAddressIsReviewedFirst(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		exhaust(t, access.Authenticator, "192.0.2.9:1")
		reviews.mu.Lock()
		reviews.delay = 10 * time.Millisecond
		reviews.mu.Unlock()
		wait := flood(t, access.Authenticator, 100, "192.0.2.9:2") // they take five seconds
		start := time.Now()
		r := newRequest("/api/v1/pods", token("a"))
		r.RemoteAddr = "192.0.2.9:3"
		if got := authenticate(t, access.Authenticator, r); got.Name != "jane" || time.Since(start) > (restFactor+2)*10*time.Millisecond {
			t.Errorf("%+v after %s", got, time.Since(start))
		}
		wait()
	})
}

// Each rejected token ends its connection, and the next one brings a hundred new tokens: a token that came before them waited for
// all of them, and for those that came meanwhile.
func TestGoodTokenWaitsForAFewConnectionsOfAFlood(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		exhaust(t, access.Authenticator, "192.0.2.9:1")
		reviews.mu.Lock()
		reviews.delay = 10 * time.Millisecond
		reviews.mu.Unlock()
		ctx, stop := context.WithCancel(t.Context())
		var attackers sync.WaitGroup
		for connection := range 10 {
			attackers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					open, cut := context.WithCancel(ctx)
					var streams sync.WaitGroup
					for j := range 20 {
						streams.Go(func() {
							r := newRequest("/api/v1/pods", token(fmt.Sprint("bad", connection, ".", i, ".", j))).WithContext(open)
							r.RemoteAddr = fmt.Sprint("192.0.2.9:", 1000+100*connection+i%100)
							_, _, _ = access.Authenticator.authenticate(r)
							cut() // it is rejected
						})
					}
					streams.Wait()
					cut()
					time.Sleep(200 * time.Millisecond)
				}
			})
		}
		time.Sleep(2 * time.Second)
		for i := range 20 {
			access.Authenticator.tokens.reviews.forget(tokenDigest("a"))
			r := newRequest("/api/v1/pods", token("a"))
			r.RemoteAddr = fmt.Sprint("192.0.2.9:", 10+i)
			start := time.Now()
			if got := authenticate(t, access.Authenticator, r); got.Name != "jane" || time.Since(start) > 2*time.Second {
				t.Errorf("%+v after %s", got, time.Since(start))
			}
			time.Sleep(300 * time.Millisecond)
		}
		stop()
		attackers.Wait()
	})
}

// Passed instead, it would cost the apiserver as much.
func TestUnknownTokenWithoutAPlaceIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(4)
		held := p.rejected.Join(accounts.ByAddress("192.0.2.1"), p.rejected.Places(), 0)
		defer held.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), reviewTimeout)
		defer cancel()
		_, err := p.enter(ctx, false, asker{key: accounts.ByAddress("192.0.2.2"), suspect: func() bool { return true }})
		if _, refused := errors.AsType[*accounts.Refused](err); !refused {
			t.Errorf("a token that got no place: %v", err)
		}
	})
}

// More callers than the apiserver has time for: who has waited long gets its review, or none is made.
func TestNoReviewIsMadeInVainWhenTooManyCome(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		access.Authenticator.tokens.reviews.places = newPlaces(8)
		reviews.delay = 50 * time.Millisecond // three at a time: 60 a second, of 100
		const callers, room = 6000, 60 * 70
		var all sync.WaitGroup
		var served atomic.Int64
		for i := range callers {
			reviews.mu.Lock()
			reviews.tokens[fmt.Sprint(i)] = verified("jane")
			reviews.mu.Unlock()
			r := newRequest("/api/v1/pods", token(fmt.Sprint(i)))
			r.RemoteAddr = fmt.Sprint("192.0.2.9:", i)
			all.Go(func() {
				if u, _, _ := access.Authenticator.authenticate(r); u != nil {
					served.Add(1)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		if sent, _ := reviews.counts(); int64(sent) != served.Load() || sent < room*95/100 {
			t.Errorf("%d reviews for %d who were served, of %d that can be made", sent, served.Load(), room)
		}
	})
}

// Other callers can share the address, behind a load balancer or by address translation.
func TestAddressWithRejectedTokensGetsFewReviewsAtATime(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		from := exhaust(t, access.Authenticator, "192.0.2.9:1")
		before, _ := reviews.counts()
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		wait := flood(t, access.Authenticator, 500, "192.0.2.9:2")
		if n, _ := reviews.counts(); n != before+rejectedAtOnce {
			t.Errorf("%d reviews at a time", n-before)
		}
		reviews.breakWith(nil)
		other := newRequest("/api/v1/pods", token("b"))
		other.RemoteAddr = "192.0.2.10:1"
		if got := authenticate(t, access.Authenticator, other); got.Name != "joe" {
			t.Errorf("other address: %+v", got)
		}
		var caller sync.WaitGroup
		caller.Go(func() {
			if got := authenticate(t, access.Authenticator, from("a")); got.Name != "jane" {
				t.Errorf("valid token of the address: %+v", got)
			}
		})
		synctest.Wait()
		close(released)
		wait()
		caller.Wait()
	})
}

func TestFloodOfRejectedTokensIsReviewedFewAtATimeAndAFifthOfTheTime(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		var mu sync.Mutex
		running, most, total := 0, 0, 0
		var since time.Time
		reviews.breakWith(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			running, total = running+1, total+1
			if total > rejectedBurst+reviewsInFlight {
				most = max(most, running)
			} else {
				since = time.Now()
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			running--
			mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{}}`))
		})
		flood(t, access.Authenticator, 1000, "192.0.2.9:2")()
		if most > rejectedAtOnce {
			t.Errorf("%d reviews at a time of an address without quota", most)
		}
		busy, elapsed := time.Duration(total-rejectedBurst-reviewsInFlight)*time.Millisecond, time.Since(since)
		if busy > elapsed/5+rejectedAtOnce*time.Millisecond {
			t.Errorf("the apiserver is busy for %s of %s", busy, elapsed)
		}
	})
}

// Rests are for what is rejected: the others of the address do not wait for it.
func TestGoodTokensOfAnAddressWithRejectedOnesDoNotRest(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		const good = 4 * rejectedAtOnce
		for i := range good {
			reviews.tokens[fmt.Sprint("good", i)] = verified("jane")
		}
		from := exhaust(t, access.Authenticator, "192.0.2.9:1")
		reviews.mu.Lock()
		reviews.delay = time.Millisecond
		reviews.mu.Unlock()
		start := time.Now()
		for i := range good {
			authenticate(t, access.Authenticator, from(fmt.Sprint("good", i)))
		}
		if took := time.Since(start); took > 2*good*time.Millisecond {
			t.Errorf("%d reviews of a millisecond take %v", good, took)
		}
	})
}

func TestRecheckOfAWatchIsIndependentOfTheQuota(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		r := newRequest("/api/v1/pods?watch=1", token("a"))
		r.RemoteAddr = "192.0.2.9:1"
		r = authenticated(t, access, r)
		access.Authenticator.Forget(r)
		from := exhaust(t, access.Authenticator, "192.0.2.9:1")
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		wait := flood(t, access.Authenticator, 100, "192.0.2.9:2")
		var caller sync.WaitGroup
		caller.Go(func() { authenticate(t, access.Authenticator, from("a")) }) // waits
		synctest.Wait()
		reviews.breakWith(nil)
		reviews.mu.Lock()
		delete(reviews.tokens, "a")
		reviews.mu.Unlock()
		start := time.Now()
		if denied, err := access.StillAllowed(r, readOf(t, r)); denied == nil || denied.Status().Code != http.StatusUnauthorized || time.Since(start) > 0 {
			t.Errorf("the revoked token: %v, %v after %v", denied, err, time.Since(start))
		}
		close(released)
		wait()
		caller.Wait()
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
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"], reviews.tokens["b"] = verified("jane"), verified("joe")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		authenticated(t, access, newRequest("/api/v1/pods", token("a")))
		released := make(chan struct{})
		authenticate(t, access.Authenticator, newRequest("/", token("b")))
		reviews.breakWith(hangs(released))
		wait := floodAccess(t, access, "b", 100)
		if _, n := reviews.counts(); n != reviewsInFlight/2*3/4 {
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
