package queue

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

	"sluice/proxy/accounts"
)

// enterWithin waits no longer than a time for n places of a group that may have most.
func enterWithin(t *testing.T, q *Queue, k accounts.Key, n, most int64, wait time.Duration) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	ticket := q.Join(k, n, most)
	return ticket.Leave, ticket.Wait(ctx)
}

// mustEnter enters and fails the test on an error.
func mustEnter(t *testing.T, q *Queue, user string) (leave func()) {
	t.Helper()
	leave, err := q.Enter(t.Context(), accounts.ByUser(user))
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// checkEmpty fails the test unless nothing runs or waits.
func checkEmpty(t *testing.T, q *Queue) {
	t.Helper()
	if r, w := q.Numbers(); r != 0 || w != 0 || len(q.groups) != 0 || len(q.eligible.All) != 0 {
		t.Errorf("%d run, %d wait, %d groups, %d eligible", r, w, len(q.groups), len(q.eligible.All))
	}
}

func TestQueueHoldsItsPlacesAndServesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, requests, places, most, widest = 5, 200, 8, 3, 3
		q := New(places)
		var total, gone atomic.Int64
		var perUser [users]atomic.Int64
		var all sync.WaitGroup
		for i := range requests * users {
			all.Go(func() {
				time.Sleep(time.Duration(i/(2*places)) * time.Second)
				user, n := rand.N(users), 1+rand.Int64N(widest)
				leave, err := enterWithin(t, q, accounts.ByUser(fmt.Sprint(user)), n, most, rand.N(3*time.Second))
				if err != nil {
					gone.Add(1)
					return
				}
				if n := total.Add(n); n > places {
					t.Errorf("%d places are taken", n)
				}
				if n := perUser[user].Add(n); n > most {
					t.Errorf("%d places are taken by a user", n)
				}
				time.Sleep(rand.N(time.Second))
				total.Add(-n)
				perUser[user].Add(-n)
				leave()
				leave() // again, without effect
			})
		}
		all.Wait()
		checkEmpty(t, q)
		if n := gone.Load(); n == 0 || n == requests*users {
			t.Errorf("%d got no place", n)
		}
	})
}

// Else a stream of short requests would keep out one that needs many places.
func TestRequestForManyPlacesIsNotOvertaken(t *testing.T) {
	q := New(4)
	first := q.Join(accounts.ByUser("first"), 3, 0)
	wide := q.Join(accounts.ByUser("wide"), 2, 0)
	late := q.Join(accounts.ByUser("late"), 1, 0)
	if !first.HasStarted() || wide.HasStarted() || late.HasStarted() {
		t.Errorf("of 4 places, 3 were taken: wide has started %v, late %v", wide.HasStarted(), late.HasStarted())
	}
	first.Leave()
	if !wide.HasStarted() || !late.HasStarted() {
		t.Errorf("4 places are free: wide has started %v, late %v", wide.HasStarted(), late.HasStarted())
	}
	wide.Leave()
	late.Leave()
	checkEmpty(t, q)
}

// order lets requests of users wait behind one that runs, one after the other, and returns in which order
// they get the place.
func order(t *testing.T, q *Queue, users ...string) []string {
	t.Helper()
	leave := mustEnter(t, q, "first")
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for i, user := range users {
		all.Go(func() {
			leave := mustEnter(t, q, user)
			mu.Lock()
			order = append(order, fmt.Sprint(user, i))
			mu.Unlock()
			leave()
		})
		synctest.Wait()
	}
	leave()
	all.Wait()
	checkEmpty(t, q)
	return order
}

func TestCallersGetPlacesInTurn(t *testing.T) {
	const a, b = "system:serviceaccount:ns:a", "system:serviceaccount:ns:b"
	for _, tt := range []struct {
		name   string
		newest bool
		users  []string
		want   []string
	}{
		{"in order of arrival", false, []string{"x", "x", "x"}, []string{"x0", "x1", "x2"}},
		{"the newest and the oldest in turn", true, []string{"x", "x", "x", "x"}, []string{"x3", "x0", "x2", "x1"}},
		{"by user", false, []string{"x", "x", "x", "y"}, []string{"x0", "y3", "x1", "x2"}},
		{"a namespace as one, its accounts in turn", false, []string{a, a, b, b, "x", "x"}, []string{a + "0", "x4", b + "2", "x5", a + "1", b + "3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(1)
				if tt.newest {
					q.NewestFirst()
				}
				if got := order(t, q, tt.users...); !slices.Equal(got, tt.want) {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestGroupWithAllItMayHaveKeepsNobodyFromFreePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10)
		greedy := accounts.ByUser("greedy")
		var leaves []func()
		for range 2 {
			leave, err := enterWithin(t, q, greedy, 1, 2, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if leave, err := enterWithin(t, q, greedy, 1, 2, time.Hour); err == nil {
				leave()
			}
		})
		synctest.Wait()
		mustEnter(t, q, "modest")()
		if _, waiting := q.Numbers(); waiting != 1 {
			t.Errorf("%d wait", waiting)
		}
		for _, leave := range leaves {
			leave()
		}
		all.Wait()
		checkEmpty(t, q)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		leave := mustEnter(t, q, "a")
		start := time.Now()
		if _, err := enterWithin(t, q, accounts.ByUser("b"), 1, 0, 10*time.Second); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		leave()
		checkEmpty(t, q)
	})
}

// join lets the groups of users ask for places, one after the other.
func join(q *Queue, n int64, users ...string) (all []*Ticket) {
	for _, user := range users {
		all = append(all, q.Join(accounts.ByUser(user), n, 0))
	}
	return all
}

func leaveAll(all ...*Ticket) {
	for _, t := range all {
		t.Leave()
	}
}

func TestNextPlaceGoesToTheGroupWithTheFewest(t *testing.T) {
	q := New(6)
	run := join(q, 1, "a", "a", "a", "a", "b", "b")
	wait := join(q, 1, "a", "b", "c", "c")
	var order []int
	for range wait { // c has the fewest twice; by then a has given the most back
		run[len(order)].Leave()
		for i, ticket := range wait {
			if ticket.HasStarted() && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	if want := []int{2, 3, 0, 1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	leaveAll(append(run, wait...)...)
	checkEmpty(t, q)
}

func TestNobodyGoesBeforeAWideRequest(t *testing.T) {
	q := New(4)
	run := join(q, 1, "a", "b", "c", "d")
	wide, narrow := join(q, 3, "e"), join(q, 1, "f")
	leaveAll(run[:2]...)
	if wide[0].HasStarted() || narrow[0].HasStarted() {
		t.Error("a request has started while the places for the wide one are not free")
	}
	leaveAll(run[2])
	if !wide[0].HasStarted() || narrow[0].HasStarted() {
		t.Error("the wide one has not started when its places were free, or another one has")
	}
	leaveAll(wide[0])
	widest := join(q, 100, "e")
	leaveAll(run[3], narrow[0])
	if !widest[0].HasStarted() {
		t.Error("a request for more places than there are has not started when it is alone")
	}
	leaveAll(widest...)
	checkEmpty(t, q)
}

func TestWideRequestThatGivesUpLetsOthersGo(t *testing.T) {
	q := New(2)
	run, wide, narrow := join(q, 1, "a"), join(q, 2, "b"), join(q, 1, "c")
	leaveAll(wide...)
	if !narrow[0].HasStarted() {
		t.Error("the next one has not started")
	}
	leaveAll(run[0], narrow[0])
	checkEmpty(t, q)
}

func TestMorePlacesStartWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		leaves := make(chan func(), 3)
		for range 3 {
			go func() { leaves <- mustEnter(t, q, "a") }()
		}
		synctest.Wait()
		q.SetPlaces(2)
		synctest.Wait()
		if len(leaves) != 2 {
			t.Errorf("%d run with two places", len(leaves))
		}
		q.SetPlaces(1)
		(<-leaves)()
		synctest.Wait()
		if running, waiting := q.Numbers(); running != 1 || waiting != 1 {
			t.Errorf("%d run with one place, %d wait", running, waiting)
		}
		(<-leaves)()
		(<-leaves)()
		checkEmpty(t, q)
	})
}

func BenchmarkQueue(b *testing.B) {
	q := New(600)
	keys := make([]accounts.Key, 10_000)
	for i := range keys {
		keys[i] = accounts.ByUser(fmt.Sprint(i))
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			leave, _ := q.Enter(b.Context(), keys[i%len(keys)])
			leave()
		}
	})
}
