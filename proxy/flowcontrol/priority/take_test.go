package priority

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"

	"sluice/proxy/accounts"
)

// holder takes seats and keeps them until they are given back.
type holder struct {
	t      testing.TB
	levels *Levels
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	seats []*seat
	errs  []error
}

func newHolder(t testing.TB, l *Levels) *holder {
	h := &holder{t: t, levels: l}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	t.Cleanup(h.leaveAll)
	return h
}

// take begins to take n seats, and returns when each has been taken, was refused, or waits.
func (h *holder) take(r *http.Request, n int) *holder {
	for range n {
		go func() {
			s, err := h.levels.take(h.ctx, r)
			h.mu.Lock()
			defer h.mu.Unlock()
			if err != nil {
				h.errs = append(h.errs, err)
				return
			}
			h.seats = append(h.seats, s)
		}()
	}
	synctest.Wait()
	return h
}

// add adds a seat, which drop takes out.
func (h *holder) add(s *seat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats = append(h.seats, s)
}

func (h *holder) drop(s *seat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats = slices.DeleteFunc(h.seats, func(other *seat) bool { return other == s })
}

// has returns how many seats are held.
func (h *holder) has() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seats)
}

// leave gives n seats back, and returns when whoever waited for them has them.
func (h *holder) leave(n int) {
	h.mu.Lock()
	left := h.seats[:n]
	h.seats = h.seats[n:]
	h.mu.Unlock()
	for _, s := range left {
		s.leave()
	}
	synctest.Wait()
}

// leaveAll ends the waiting and gives all seats back.
func (h *holder) leaveAll() {
	h.cancel()
	synctest.Wait()
	h.leave(h.has())
}

// numbers returns the sum of each gauge of the library over its series, by name without prefix.
func numbers(t testing.TB, names ...string) map[string]float64 {
	t.Helper()
	families, err := (&Levels{config: builtIn()}).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, name := range names {
		for _, f := range families {
			if f.GetName() == ownPrefix+name {
				for _, m := range f.GetMetric() {
					sums[name] += m.GetGauge().GetValue()
				}
			}
		}
	}
	return sums
}

// nobody checks that no request has a seat or waits for one.
func nobody(t testing.TB) {
	t.Helper()
	got := numbers(t, "current_executing_requests", "current_executing_seats", "current_inqueue_requests")
	want := map[string]float64{"current_executing_requests": 0, "current_executing_seats": 0, "current_inqueue_requests": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests in flight when all are done (-want +got):\n%s", diff)
	}
}

// slow takes n seats, one after the other, for responses that their clients accept slowly.
func slow(t *testing.T, l *Levels, r *http.Request, n int) (kept *holder) {
	t.Helper()
	kept = newHolder(t, l)
	for range n {
		h := newHolder(t, l).take(r, 1)
		if h.has() == 0 {
			t.Fatalf("no seat: %v", h.errs)
		}
		s := h.seats[0]
		ended := func() {
			s.Leave()
			kept.drop(s)
		}
		kept.add(s)
		if s.Slow(ended) != nil {
			ended()
		}
	}
	return kept
}

// The apiserver keeps the seat of a response that is not read, too.
func TestSlowResponsesLeaveTwoThirdsOfALevelToOthersWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Wait: time.Second})
		first := slow(t, l, ask(t, "user", createPod), 1)
		places := int(first.seats[0].bounded.line.Places())
		kept := slow(t, l, ask(t, "user", createPod), places-1)
		if kept.has() != places-1 {
			t.Fatalf("%d of %d are left before anybody waits", kept.has(), places-1)
		}
		others := newHolder(t, l)
		if others.take(ask(t, "another", createPod), 3); others.has() != 3 || kept.has() != places-1-3 {
			t.Errorf("three requests of another user get %d seats, and %d of %d slow responses are left", others.has(), kept.has(), places-1)
		}
		if others.take(ask(t, "another", createPod), 500); others.has() != places-places/slowShare {
			t.Errorf("another user gets %d of %d seats beside slow responses", others.has(), places)
		}
	})
}

func TestSlowResponsesOfTheExemptLevelStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Wait: time.Second})
		admin := as(t, &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}}, createPod)
		const many = 700
		if n := slow(t, l, admin, many).has(); n != many {
			t.Errorf("%d of %d are left", n, many)
		}
	})
}

func TestSlowResponsesOfASmallLevelLeaveASeatToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 20, Wait: time.Second})
		h := newHolder(t, l).take(ask(t, "user", createPod), 1)
		if s := h.seats[0]; s.bounded.line.Places() >= slowShare || s.Slow(nil) != nil {
			t.Fatalf("of %d seats", s.bounded.line.Places())
		}
		if newHolder(t, l).take(ask(t, "another", createPod), 1).has() != 1 {
			t.Error("another user gets none")
		}
	})
}

// A list may take ten seats, of whose response it keeps no more than what slow ones may.
func TestSlowListsLeaveTwoThirdsOfALevelToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Wait: time.Second, Resources: sized{manyPods()}})
		var level *level
		for range 50 {
			h := newHolder(t, l).take(ask(t, "user", listPods), 1)
			if h.has() == 0 {
				t.Fatalf("no seat: %v", h.errs)
			}
			s := h.seats[0]
			if level = s.bounded; s.seats < 2 {
				t.Fatalf("a list takes %d seats", s.seats)
			}
			if s.Slow(s.Leave) != nil {
				s.Leave()
			}
		}
		others, places := newHolder(t, l).take(ask(t, "another", createPod), 500).has(), int(level.line.Places())
		if others < places-places/slowShare {
			t.Errorf("another user gets %d of %d seats beside slow lists", others, places)
		}
	})
}

// What a level has borrowed it gives back.
func TestSlowResponsesEndWhenTheirLevelShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLevelOf(t, 90)
		ended := 0
		for i := range 30 {
			s := newSeat(accounts.ByUser(userName(i)))
			s.bounded, s.seats = l, 1
			if err := s.Slow(func() { ended++ }); err != nil {
				t.Fatal(err)
			}
		}
		completer, err := l.BeginConfigChange(l.queuing)
		if err != nil {
			t.Fatal(err)
		}
		completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: 10, ConcurrencyDenominator: 10})
		if ended != 20 {
			t.Errorf("%d of 30 slow responses ended", ended)
		}
	})
}

// In a level without queues nobody waits, so that nobody could ask slow responses for their seats.
func TestSlowResponsesLeaveTwoThirdsOfALevelWithoutQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLevelOf(t, 30)
		without := l.queuing
		without.DesiredNumQueues = 0
		l.configure(l.QueueSet, without, 30)
		kept := 0
		for range 30 {
			s := newSeat(accounts.ByUser("user"))
			s.bounded, s.seats = l, 1
			if s.Slow(func() { kept-- }) == nil {
				kept++
			}
		}
		if kept != 30/slowShare {
			t.Errorf("%d slow responses are left", kept)
		}
	})
}
