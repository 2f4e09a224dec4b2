package priority

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apiserver/pkg/authentication/user"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
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
	who := caller{&user.DefaultInfo{}, account{tenant, member}}
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

func (l *level) wantInFront(t *testing.T, n int) {
	t.Helper()
	if l.inFront != n {
		t.Errorf("%d requests wait in front, want %d", l.inFront, n)
	}
}

// With more accounts than seats each has its first request in the queues.
func TestFirstRequestOfAnAccountNeverWaitsInFront(t *testing.T) {
	withLevel(t, 4, func(t *testing.T, l *level) {
		first := l.visit(t, "a", "a", 1)
		var crowd []*visitor
		for _, name := range []string{"b", "bb", "bbb", "bbbb", "bbbbb", "bbbbbb", "bbbbbbb"} {
			crowd = append(crowd, l.visit(t, name, name, 1))
		}
		l.wantInFront(t, 0)
		second := l.visit(t, "a", "a", 1)
		l.wantInFront(t, 1)
		leave(first) // the crowd still wants more seats than there are
		l.wantInFront(t, 0)
		leave(append(crowd, second)...)
	})
}

func TestTenantsTakeTurns(t *testing.T) {
	withLevel(t, 4, func(t *testing.T, l *level) {
		a, b, c := l.visits(t, "a", 1), l.visits(t, "b", 1), l.visits(t, "c", 2)
		a, b = append(a, l.visits(t, "a", 2)...), append(b, l.visits(t, "b", 2)...)
		l.wantInFront(t, 4)
		leave(c...)
		if run(a) != 2 || run(b) != 2 {
			t.Errorf("%d and %d have seats, want 2 and 2", run(a), run(b))
		}
		leave(append(a, b...)...)
	})
}

func TestNobodyGoesBeforeAWideRequest(t *testing.T) {
	withLevel(t, 6, func(t *testing.T, l *level) {
		a, b := l.visits(t, "a", 3), l.visits(t, "b", 2)
		wide := l.visit(t, "b", "b", 3)
		narrow := l.visit(t, "a", "a", 1)
		l.wantInFront(t, 2)
		leave(b[0])
		leave(b[1])
		if !wide.runs.Load() || narrow.runs.Load() {
			t.Errorf("the wide one runs: %v, the narrow one, which came later: %v", wide.runs.Load(), narrow.runs.Load())
		}
		leave(append(a, wide, narrow)...)
	})
}

func TestNobodyGoesBeforeTheOwnLine(t *testing.T) {
	withLevel(t, 6, func(t *testing.T, l *level) {
		a, b, c := l.visits(t, "a", 2), l.visits(t, "b", 2), l.visits(t, "c", 2)
		wide := l.visit(t, "b", "b", 3)
		a = append(a, l.visits(t, "a", 1)...)
		leave(c...) // the share of a becomes 3, but it is the turn of b
		l.wantInFront(t, 2)
		late := l.visit(t, "a", "a", 1)
		l.wantInFront(t, 3)
		leave(append(a, b...)...)
		leave(wide, late)
	})
}

// The level of newLevelOf has 8 queues for 5 requests each; a flow has 2 of them.
func TestFrontIsBounded(t *testing.T) {
	withLevel(t, 1, func(t *testing.T, l *level) {
		all := []*visitor{l.visit(t, "holder", "holder", 1), l.visit(t, "ns", "first", 1)}
		fill := func(member string, n int) {
			t.Helper()
			for range n {
				all = append(all, l.visit(t, "ns", member, 1))
			}
			if all[len(all)-1].refused {
				t.Errorf("%s is refused with %d in front", member, l.inFront)
			}
			if v := l.visit(t, "ns", member, 1); !v.refused {
				t.Errorf("%s may have more than %d in front, of %d", member, n, l.inFront)
			}
		}
		for _, member := range []string{"a", "b", "c", "d"} {
			fill(member, 10)
		}
		fill("e", 1) // all are full: one of each further member
		l.wantInFront(t, 41)
		for _, v := range all {
			close(v.left)
		}
	})
}
