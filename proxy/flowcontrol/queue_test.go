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

	"sluice/proxy/accounts"
)

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
	if r, w := q.Numbers(); r != 0 || w != 0 || len(q.groups) != 0 || q.eligible.Len() != 0 {
		t.Errorf("%d run, %d wait, %d groups, %d eligible", r, w, len(q.groups), q.eligible.Len())
	}
}

func TestQueueHoldsItsPlacesAndServesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, requests, places, most = 5, 200, 8, 3
		q := NewQueue(places)
		var total, gone atomic.Int64
		var perUser [users]atomic.Int64
		var all sync.WaitGroup
		for i := range requests * users {
			all.Go(func() {
				time.Sleep(time.Duration(i/(2*places)) * time.Second)
				user := rand.N(users)
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(3*time.Second))
				defer cancel()
				leave, err := q.EnterWithin(ctx, accounts.ByUser(fmt.Sprint(user)), most, rand.N(3*time.Second))
				if err != nil {
					gone.Add(1)
					return
				}
				if n := total.Add(1); n > places {
					t.Errorf("%d requests run", n)
				}
				if n := perUser[user].Add(1); n > most {
					t.Errorf("%d requests of a user run", n)
				}
				time.Sleep(rand.N(time.Second))
				total.Add(-1)
				perUser[user].Add(-1)
				leave()
			})
		}
		all.Wait()
		checkEmpty(t, q)
		if n := gone.Load(); n == 0 || n == requests*users {
			t.Errorf("%d got no place", n)
		}
	})
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
		{"newest first", true, []string{"x", "x", "x"}, []string{"x2", "x1", "x0"}},
		{"by user", false, []string{"x", "x", "x", "y"}, []string{"x0", "y3", "x1", "x2"}},
		{"a namespace as one, its accounts in turn", false, []string{a, a, b, b, "x", "x"}, []string{a + "0", "x4", b + "2", "x5", a + "1", b + "3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewQueue(1)
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
		q := NewQueue(10)
		greedy := accounts.ByUser("greedy")
		var leaves []func()
		for range 2 {
			leave, err := q.EnterWithin(t.Context(), greedy, 2, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if leave, err := q.EnterWithin(t.Context(), greedy, 2, time.Hour); err == nil {
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

func TestWaitEndsWithTimeOrContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1)
		leave := mustEnter(t, q, "a")
		start := time.Now()
		if _, err := q.EnterWithin(t.Context(), accounts.ByUser("b"), 0, 10*time.Second); !errors.Is(err, errTooLong) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Enter(ctx, accounts.ByUser("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		leave()
		checkEmpty(t, q)
	})
}

func TestMorePlacesStartWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1)
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
	q := NewQueue(600)
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
