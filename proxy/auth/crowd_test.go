package auth

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
)

// A crowd that comes back after a restart waits for the stores: they come first.
func TestReviewsOfACrowdAreFewWhileStoresAreFilled(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		released := make(chan struct{})
		reviews.breakWith(hangs(released))
		const all, few = reviewsInFlight / unknownPart, reviewsInFlight / fillingPart
		expect := func(when string, wantTokens, wantAccesses int) {
			t.Helper()
			synctest.Wait()
			if tokens, accesses := reviews.counts(); tokens != wantTokens*3/4 || accesses != wantAccesses*3/4 {
				t.Errorf("%s: %d reviews of tokens and %d of accesses, want three quarters of %d and %d",
					when, tokens, accesses, wantTokens, wantAccesses)
			}
		}
		access.SetFilling(true)
		wait := flood(t, access.Authenticator, 2*all, "192.0.2.9:1")
		var callers sync.WaitGroup
		for i := range 2 * all {
			by := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "list", Path: fmt.Sprint("/metrics/", i)}
			callers.Go(func() { _, _, _ = access.Authorizer.Authorize(t.Context(), by) })
		}
		expect("while stores are filled", few, few)
		access.SetFilling(false)
		expect("afterwards", reviewsInFlight/yieldingPart, all)
		close(released)
		wait()
		callers.Wait()
	})
}

// Of a crowd, those who are known go on before others begin: what they hold waits for the last of their reviews.
func TestReviewsOfTokensWaitForThoseOfAccesses(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		const agents = 1000
		reviews.delay = 20 * time.Millisecond
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		var known, most, ready atomic.Int64 // agents
		var all sync.WaitGroup
		for i := range agents {
			status := verified("agent")
			status.User.Extra = map[string]authenticationv1.ExtraValue{"pod": {fmt.Sprint(i)}}
			reviews.tokens[fmt.Sprint("agent", i)] = status
		}
		for name := range maps.Clone(reviews.tokens) {
			all.Go(func() {
				r := authenticated(t, access, newRequest("/api/v1/pods", token(name)))
				defer known.Add(-1)
				if now := known.Add(1); now > most.Load() {
					most.Store(now)
				}
				watch := authenticated(t, access, newRequest("/api/v1/pods?watch=1", token(name)))
				if access.Allowed(r, readOf(t, r)) && access.Allowed(watch, readOf(t, watch)) {
					ready.Add(1)
				}
			})
		}
		all.Wait()
		if ready.Load() != agents || most.Load() > agents/10 {
			t.Errorf("%d of %d agents got in, up to %d were known and waited", ready.Load(), agents, most.Load())
		}
	})
}

// A user may keep accesses waiting for as long as it likes: tokens of others still have enough places, and all once that ends.
func TestTokensYieldNoMoreThanTheyMust(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		tokens, accesses := access.Authenticator.tokens.reviews.places, access.Authorizer.reviews.places
		review := func(took time.Duration) {
			t.Helper()
			held, err := tokens.enter(t.Context(), false, asker{key: accounts.ByAddress("192.0.2.1")})
			if err != nil {
				t.Fatal(err)
			}
			held.leave(t.Context(), took, true, false)
		}
		var taken []*queue.Ticket
		for range reviewsInFlight {
			taken = append(taken, accesses.unknown.Join(accounts.ByUser("jane"), 1, 0))
		}
		for _, row := range []struct {
			took time.Duration
			want int64
		}{{100 * time.Millisecond, reviewsInFlight / unknownPart}, {time.Millisecond, reviewsInFlight / yieldingPart}} {
			for range 100 {
				review(row.took)
			}
			if got := tokens.unknown.Places(); got != row.want {
				t.Errorf("%d places for reviews of %s while accesses wait, want %d", got, row.took, row.want)
			}
		}
		for _, held := range taken[1:] {
			held.Leave()
		}
		_ = accesses.all.Acquire(t.Context(), 1)
		place{accesses, taken[0], false}.leave(t.Context(), time.Millisecond, true, false)
		if got := tokens.unknown.Places(); got != reviewsInFlight/unknownPart {
			t.Errorf("%d places once no access waits", got)
		}
	})
}

// Over a slow network a few reviews at a time would be too few.
func TestReviewsWhileStoresAreFilledKeepTheirRate(t *testing.T) {
	for delay, rate := range map[time.Duration]float64{
		time.Millisecond: 3000, 20 * time.Millisecond: fewRate * 0.75, 100 * time.Millisecond: 240,
	} {
		run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.delay = delay
			for i := range 1000 {
				reviews.tokens[fmt.Sprint("random192.0.2.9:1", i)] = verified("jane")
			}
			access.SetFilling(true)
			start := time.Now()
			flood(t, access.Authenticator, 1000, "192.0.2.9:1")()
			if got := 1000 / time.Since(start).Seconds(); got < 0.8*rate || got > 1.2*rate {
				t.Errorf("%.0f reviews a second that take %s, want %.0f", got, delay, rate)
			}
		})
	}
}

// Who hangs up says nothing about how long reviews take.
func TestOnlyAnswersTellHowLongReviewsTake(t *testing.T) {
	p := newPlaces(reviewsInFlight)
	p.setFilling(true)
	review := func(took time.Duration, answered bool) {
		t.Helper()
		held, err := p.enter(t.Context(), false, asker{key: accounts.ByUser("jane")})
		if err != nil {
			t.Fatal(err)
		}
		held.leave(t.Context(), took, answered, false)
	}
	for range fewSample {
		review(60*time.Millisecond, true)
	}
	review(time.Millisecond, false)
	if n := p.unknown.Places(); n != 30 {
		t.Errorf("%d places for 500 reviews a second of 60 ms", n)
	}
}
