package priority

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestNextSeatGoesToTheAccountBelowItsShare(t *testing.T) {
	for _, c := range []struct {
		name  string
		heavy []*http.Request
	}{
		{"users", []*http.Request{ask(t, "a", createPod), ask(t, "b", createPod)}},
		{"service accounts of a namespace", []*http.Request{
			askServiceAccount(t, "ns", "a", createPod), askServiceAccount(t, "ns", "b", createPod), askServiceAccount(t, "ns", "c", createPod),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := start(t, Options{Seats: 600})
				var heavy []*holder
				for range 100 { // the accounts come by turns, as clients do
					for n, r := range c.heavy {
						if len(heavy) <= n {
							heavy = append(heavy, newHolder(t, l))
						}
						heavy[n].take(r, 4)
					}
				}
				other := ask(t, "other", createPod)
				if c.name == "service accounts of a namespace" {
					other = askServiceAccount(t, "ns-2", "other", createPod)
				}
				time.Sleep(time.Second) // which the library does not count before the seats are given back
				light := newHolder(t, l).take(other, 3)
				for want := 1; want <= 3; want++ {
					heavy[0].leave(1)
					if light.has() != want {
						t.Fatalf("%d requests of the light account have a seat after %d were given back", light.has(), want)
					}
				}
			})
		})
	}
}

func TestMembersOfATenantTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600})
		heavy := newHolder(t, l).take(askServiceAccount(t, "ns", "heavy", createPod), 500)
		light := newHolder(t, l).take(askServiceAccount(t, "ns", "light", createPod), 2)
		heavy.leave(2)
		first := light.has()
		heavy.leave(2)
		if first != 1 || light.has() != 2 {
			t.Errorf("%d and %d seats after 2 and 4 were given back", first, light.has())
		}
	})
}

// The seats that one account gives back go to the other.
func TestNoSeatIsUnusedWhileARequestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		a := newHolder(t, l).take(ask(t, "a", createPod), 100)
		seats := a.has()
		b := newHolder(t, l).take(ask(t, "b", createPod), 100)
		for range 3 * seats {
			if a.has() > 0 {
				a.leave(1)
			}
			if got := a.has() + b.has(); got != seats {
				t.Fatalf("%d of %d seats are in use", got, seats)
			}
			if b.has() > 0 {
				b.leave(1)
			}
			if a.has()+b.has() == 0 {
				break
			}
		}
	})
}

// Without those in line the library would lend as many seats as the level has, not as many as it wants.
func TestRequestsInLineBorrowSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Wait: time.Hour})
		h := newHolder(t, l).take(ask(t, "user", createPod), 400)
		before := h.has()
		time.Sleep(10 * time.Second) // the library's period
		synctest.Wait()
		if before > 150 || h.has() < 300 {
			t.Errorf("%d seats at first, %d when the other levels have lent theirs", before, h.has())
		}
	})
}

// Random callers hold seats for random times, and some give up. The limits of the library do not move
// within its period of ten seconds.
func TestSeatsInUseStayWithinTheTotal(t *testing.T) {
	const total = 100
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := start(t, Options{Seats: total, Wait: 2 * time.Second})
			var callers []*http.Request
			for n := range 5 {
				callers = append(callers, ask(t, userName(n), createPod), askServiceAccount(t, userName(n%2), userName(n), listPods),
					askServiceAccount(t, "kube-system", userName(n), createPod), ask(t, "system:node:n1", updateLease, "system:nodes"))
			}
			var inUse, taken, highest atomic.Int64
			for range 1000 {
				r := callers[random.IntN(len(callers))]
				keeps, begins, patience := time.Duration(random.IntN(3000)), time.Duration(random.IntN(4000)), time.Duration(random.IntN(4000))
				go func() {
					time.Sleep(begins * time.Millisecond)
					ctx, cancel := context.WithTimeout(context.Background(), patience*time.Millisecond)
					defer cancel()
					s, err := l.take(ctx, r)
					if err != nil {
						return
					}
					taken.Add(1)
					if n := inUse.Add(1); n > highest.Load() {
						highest.Store(n)
					}
					time.Sleep(keeps * time.Millisecond)
					inUse.Add(-1)
					s.leave()
				}()
			}
			time.Sleep(9 * time.Second)
			synctest.Wait()
			const levels = 7 // whose parts are rounded up
			if highest.Load() > total+levels || highest.Load() < total/2 || taken.Load() < total {
				t.Errorf("seed %d: %d of %d seats in use at most, %d taken", seed, highest.Load(), total, taken.Load())
			}
			nobody(t)
		})
	}
}
