package flowcontrol

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// enter enters and fails the test on an error.
func enter(t *testing.T, g *gate, key string) (leave func()) {
	t.Helper()
	leave, err := g.enter(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func TestGateHoldsItsLimitsAndServesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, requests = 5, 200
		limit := Limit{Total: 8, PerUser: 3}
		g := newGate(limit, time.Hour)
		var total, refused atomic.Int64
		var perUser [users]atomic.Int64
		var all sync.WaitGroup
		for i := range requests * users {
			all.Go(func() {
				time.Sleep(time.Duration(i/(2*limit.Total)) * time.Second)
				user := rand.N(users)
				leave, err := g.enter(t.Context(), fmt.Sprint(user))
				if err != nil {
					refused.Add(1)
					return
				}
				if n := total.Add(1); n > int64(limit.Total) {
					t.Errorf("%d requests run", n)
				}
				if n := perUser[user].Add(1); n > int64(limit.PerUser) {
					t.Errorf("%d requests of a user run", n)
				}
				time.Sleep(rand.N(time.Second))
				total.Add(-1)
				perUser[user].Add(-1)
				leave()
			})
		}
		all.Wait()
		if r, w := g.numbers(); r != 0 || w != 0 || len(g.flows) != 0 || g.eligible.Len() != 0 {
			t.Errorf("%d run, %d wait, %d flows, %d eligible", r, w, len(g.flows), g.eligible.Len())
		}
		if n := refused.Load(); n == requests*users {
			t.Error("all were refused")
		}
	})
}

func TestUserWithManyWaitingRequestsDelaysOthersByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limit{Total: 30, PerUser: 50}, time.Hour)
		var leaves []func()
		for range 30 {
			leaves = append(leaves, enter(t, g, "greedy"))
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(key string) {
			all.Go(func() {
				leave := enter(t, g, key)
				mu.Lock()
				order = append(order, key)
				mu.Unlock()
				leave()
			})
			synctest.Wait()
		}
		for range 20 {
			wait("greedy")
		}
		wait("modest")
		leaves[0]() // the others keep their places, so that one request runs at a time
		all.Wait()
		for _, leave := range leaves[1:] {
			leave()
		}
		if i := slices.Index(order, "modest"); i > 1 {
			t.Errorf("served after %d requests of the greedy user", i)
		}
	})
}

func TestUserAtItsLimitDoesNotKeepOthersFromFreePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limit{Total: 10, PerUser: 2}, time.Hour)
		leaves := []func(){enter(t, g, "greedy"), enter(t, g, "greedy")}
		var all sync.WaitGroup
		all.Go(func() { enter(t, g, "greedy")() })
		synctest.Wait()
		enter(t, g, "modest")()
		if _, waiting := g.numbers(); waiting != 1 {
			t.Errorf("%d wait", waiting)
		}
		for _, leave := range leaves {
			leave()
		}
		all.Wait()
	})
}

func TestWaitEndsWithTimeContextOrFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limit{Total: 1, PerUser: 1}, 10*time.Second)
		leave := enter(t, g, "a")
		start := time.Now()
		if _, err := g.enter(t.Context(), "b"); !errors.Is(err, errFull) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.enter(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		go func() { _, _ = g.enter(t.Context(), "b") }()
		synctest.Wait()
		start = time.Now()
		if _, err := g.enter(t.Context(), "b"); !errors.Is(err, errFull) || time.Since(start) != 0 {
			t.Errorf("a full queue: %v after %s", err, time.Since(start))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		leave()
		if len(g.flows) != 0 {
			t.Errorf("%d flows are left", len(g.flows))
		}
	})
}

func TestClassesThatDoNotQueueRefuseAtOnce(t *testing.T) {
	g := newGate(Limit{Total: 2, PerUser: 1}, 0)
	leave := enter(t, g, "a")
	if _, err := g.enter(t.Context(), "a"); !errors.Is(err, errFull) {
		t.Error(err)
	}
	enter(t, g, "b")()
	leave()
	enter(t, g, "a")()
}

func TestFullBucketsAreForgotten(t *testing.T) {
	r := newRates(Rate{PerSecond: 10, Burst: 2})
	now := time.Now()
	for i := range 10 * minSweep {
		key := fmt.Sprint(i)
		for n := range 3 {
			if r.allow(key, now) != (n < 2) {
				t.Fatalf("request %d: the burst is not 2", n)
			}
		}
		now = now.Add(time.Millisecond)
	}
	if n := len(r.buckets); n > 2*minSweep {
		t.Errorf("%d buckets", n)
	}
	if now = now.Add(100 * time.Millisecond); !r.allow("0", now) {
		t.Error("the bucket did not fill")
	}
}

func TestRaisedLimitsStartWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limit{Total: 1, PerUser: 1}, time.Hour)
		started := make(chan string, 10)
		enter := func(user string) {
			if _, err := g.enter(t.Context(), user); err == nil {
				started <- user
			}
		}
		for _, user := range []string{"a", "a", "b"} {
			go enter(user)
			synctest.Wait()
		}
		if len(started) != 1 {
			t.Fatalf("%d requests run", len(started))
		}
		g.set(Limit{Total: 2, PerUser: 1}, time.Hour)
		synctest.Wait()
		if len(started) != 2 {
			t.Errorf("%d requests run with one more place", len(started))
		}
		g.set(Limit{Total: 3, PerUser: 2}, time.Hour)
		synctest.Wait()
		if len(started) != 3 {
			t.Errorf("%d requests run with two for each user", len(started))
		}
		g.set(Limit{Total: 1, PerUser: 1}, 0)
		if _, err := g.enter(t.Context(), "c"); !errors.Is(err, errFull) {
			t.Errorf("beyond the lowered limit: %v", err)
		}
	})
}

func TestChangedRatesHoldForKnownUsers(t *testing.T) {
	r := newRates(Rate{PerSecond: 1, Burst: 1})
	now := time.Now()
	if !r.allow("a", now) || r.allow("a", now) {
		t.Fatal("a burst of one")
	}
	r.set(Rate{PerSecond: 100, Burst: 10})
	n := 0
	for range 20 {
		if r.allow("a", now.Add(time.Second)) {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d requests, want 10", n)
	}
}
