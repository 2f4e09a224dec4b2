package priority

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apiserver/pkg/authentication/user"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/accounts"
)

// visitor is a request at a level.
type visitor struct {
	refused bool
	runs    atomic.Bool
	left    chan struct{}
}

// visit starts a request of a member of a tenant, which keeps its seats until it leaves.
func (l *level) visit(t *testing.T, tenant, member string, seats uint64) *visitor {
	v := &visitor{left: make(chan struct{})}
	who := caller{&user.DefaultInfo{}, newSeat(accounts.Key{Group: tenant, Name: member})}
	r, _ := l.StartRequest(t.Context(), &fcrequest.WorkEstimate{InitialSeats: seats}, uint64(len(member)), "", "schema", nil, who, nil)
	if v.refused = r == nil; !v.refused {
		go r.Finish(func() {
			v.runs.Store(true)
			<-v.left
		})
	}
	synctest.Wait()
	return v
}

func (l *level) visits(t *testing.T, tenant string, n int) (all []*visitor) {
	for range n {
		all = append(all, l.visit(t, tenant, tenant, 1))
	}
	return all
}

// run returns how many of the visitors have their seats.
func run(all []*visitor) (n int) {
	for _, v := range all {
		if v.runs.Load() {
			n++
		}
	}
	return n
}

func leave(all ...*visitor) {
	for _, v := range all {
		close(v.left)
	}
	synctest.Wait()
}

// withLevel runs a test with a level of some seats, whose requests all end after it.
func withLevel(t *testing.T, seats int, f func(t *testing.T, l *level)) {
	synctest.Test(t, func(t *testing.T) { f(t, newLevelOf(t, seats)) })
}

func (l *level) wantInLine(t *testing.T, n int) {
	t.Helper()
	if _, waiting := l.line.Numbers(); waiting != n {
		t.Errorf("%d requests are in line, want %d", waiting, n)
	}
}

func TestAccountWithTheFewestSeatsIsNext(t *testing.T) {
	withLevel(t, 4, func(t *testing.T, l *level) {
		a, b := l.visits(t, "a", 5), l.visits(t, "b", 1)
		c := l.visits(t, "c", 2)
		l.wantInLine(t, 4)
		leave(a[0])
		leave(a[1])
		if run(a) != 4 || run(b) != 1 || run(c) != 1 { // two of a have left
			t.Errorf("%d of a, %d of b and %d of c have had seats, want 4, 1 and 1", run(a), run(b), run(c))
		}
		leave(append(append(a[2:], b...), c...)...)
	})
}

func TestNobodyGoesBeforeAWideRequest(t *testing.T) {
	withLevel(t, 6, func(t *testing.T, l *level) {
		a, b := l.visits(t, "a", 3), l.visits(t, "b", 2)
		wide := l.visit(t, "b", "b", 3)
		narrow := l.visit(t, "a", "a", 1)
		l.wantInLine(t, 2)
		leave(b[0])
		leave(b[1])
		if !wide.runs.Load() || narrow.runs.Load() {
			t.Errorf("the wide one runs: %v, the narrow one, which came later: %v", wide.runs.Load(), narrow.runs.Load())
		}
		leave(append(a, wide, narrow)...)
	})
}

// The level of newLevelOf has 8 queues for 5 requests each; a flow has 2 of them.
func TestLineIsBounded(t *testing.T) {
	withLevel(t, 1, func(t *testing.T, l *level) {
		all := []*visitor{l.visit(t, "holder", "holder", 1)}
		fill := func(member string, n int) {
			t.Helper()
			for range n {
				all = append(all, l.visit(t, "ns", member, 1))
			}
			if all[len(all)-1].refused {
				t.Errorf("%s is refused", member)
			}
			if v := l.visit(t, "ns", member, 1); !v.refused {
				t.Errorf("%s may have more than %d in line", member, n)
			}
		}
		for _, member := range []string{"a", "b", "c", "d"} {
			fill(member, 10)
		}
		fill("e", 1) // all are full: one of each further member
		l.wantInLine(t, 41)
		for _, v := range all {
			close(v.left)
		}
	})
}

// A level that has been deleted goes on until its last request has ended, and must not count as idle before.
func TestLevelWithRequestsInLineIsNotIdle(t *testing.T) {
	withLevel(t, 1, func(t *testing.T, l *level) {
		all := l.visits(t, "a", 2)
		if l.IsIdle() {
			t.Error("it is idle with one request that runs")
		}
		leave(all[0])
		if l.IsIdle() {
			t.Error("it is idle with the next one")
		}
		leave(all[1])
		if !l.IsIdle() {
			t.Error("it is not idle when all have left")
		}
	})
}
