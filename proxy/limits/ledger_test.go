package limits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func caller(name string) Caller { return Caller{Group: name} }

var system = Caller{Group: "node", Reserved: true}

// take takes bytes that must be allowed.
func take(t *testing.T, l *Ledger, c Caller, bytes int64) *Hold {
	t.Helper()
	h, err := l.Take(c, bytes)
	if err != nil {
		t.Fatalf("%s: %d bytes: %v; %+v", c.Group, bytes, err, l.Usage())
	}
	return h
}

// takeUntil takes bytes that must be allowed, and counts ends.
func takeUntil(t *testing.T, l *Ledger, c Caller, bytes int64, ends *int) *Hold {
	t.Helper()
	h, err := l.TakeUntil(c, bytes, func() { *ends++ })
	if err != nil {
		t.Fatalf("%s: %d bytes: %v; %+v", c.Group, bytes, err, l.Usage())
	}
	return h
}

// refused returns a check that a hold was refused.
func refused(t *testing.T) func(*Hold, error) {
	t.Helper()
	return func(h *Hold, err error) {
		t.Helper()
		if _, ok := errors.AsType[*Refused](err); !ok || h != nil {
			t.Errorf("got %v, %v", h, err)
		}
	}
}

func TestAGroupLeavesAQuarterToOthers(t *testing.T) {
	l := NewLedger(1600) // 1500 for all but the system
	take(t, l, caller("a"), 1125)
	refused(t)(l.Take(caller("a"), 1))
	take(t, l, caller("b"), 281)
	refused(t)(l.Take(caller("b"), 1))
}

func TestRevocableHoldsFillAllAndEndForLighterGroupsNewestFirst(t *testing.T) {
	l := NewLedger(1600)
	var ends [15]int
	for i := range ends {
		takeUntil(t, l, caller("a"), 100, &ends[i])
	}
	refused(t)(l.TakeUntil(caller("a"), 1, func() {}))
	take(t, l, caller("b"), 50)
	if ends[14] != 1 || slices.Max(ends[:14]) != 0 {
		t.Errorf("ended: %v", ends)
	}
}

func TestARevokedHoldCountsUntilItIsReleased(t *testing.T) {
	l := NewLedger(1600)
	var ends [2]int
	takeUntil(t, l, caller("a"), 1400, &ends[0])
	newest := takeUntil(t, l, caller("a"), 100, &ends[1])
	take(t, l, caller("b"), 50)
	if u := l.Usage(); u.Held != 1550 || !newest.Revoked() {
		t.Errorf("held: %+v", u)
	}
	refused(t)(l.TakeUntil(caller("a"), 1, func() {})) // a caller that has lost a hold gets nothing before its end
	newest.Release()
	if u := l.Usage(); u.Held != 1450 {
		t.Errorf("held after the end: %+v", u)
	}
	takeUntil(t, l, caller("a"), 50, &ends[1])
}

func TestNothingIsRevokedInVain(t *testing.T) {
	l := NewLedger(1600)
	ends := 0
	for range 15 {
		takeUntil(t, l, caller("a"), 100, &ends)
	}
	refused(t)(l.Take(caller("b"), 700))
	if u := l.Usage(); ends != 0 || u.Ended != 0 || u.Held != 1500 {
		t.Errorf("%d ended: %+v", ends, u)
	}
}

func TestTheSystemLosesNothingAndHasAPart(t *testing.T) {
	l := NewLedger(1600)
	ends, systems := 0, 0
	takeUntil(t, l, system, 500, &systems)
	takeUntil(t, l, caller("a"), 1000, &ends)
	take(t, l, system, 100)
	refused(t)(l.Take(caller("b"), 1500))
	if l.Shed(5000); ends != 1 || systems != 0 {
		t.Errorf("ended: %d of a user, %d of the system", ends, systems)
	}
}

func TestAShutLedgerTakesFromTheSystemOnly(t *testing.T) {
	l := NewLedger(1600)
	h := take(t, l, caller("a"), 100)
	l.setShut(true)
	refused(t)(l.Take(caller("a"), 1))
	take(t, l, system, 1)
	if h.Resize(50) != nil {
		t.Error("less is refused")
	}
	l.setShut(false)
	take(t, l, caller("a"), 1)
}

func TestShedEndsTheNewestOfTheHeaviestGroup(t *testing.T) {
	l := NewLedger(1600)
	var ends [3]int
	takeUntil(t, l, caller("light"), 300, &ends[0])
	takeUntil(t, l, caller("heavy"), 300, &ends[1])
	takeUntil(t, l, caller("heavy"), 100, &ends[2])
	if shed := l.Shed(50); shed != 100 || ends != [3]int{0, 0, 1} {
		t.Errorf("shed %d: %v", shed, ends)
	}
}

// model is one hold of the model.
type model struct {
	hold  *Hold
	by    Caller
	bytes int64
	fixed bool
	ended bool
}

// TestLedgerLaws compares a Ledger with a list of holds, over random steps.
func TestLedgerLaws(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkLaws(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func checkLaws(t *testing.T, r *rand.Rand) {
	const total = 16_000
	l := NewLedger(total)
	callers := []Caller{system, caller("a"), caller("b"), caller("c")}
	var all []*model
	for step := range 3_000 {
		switch c := callers[r.IntN(len(callers))]; r.IntN(5) {
		case 0, 1:
			m := &model{by: c, bytes: 1 + r.Int64N(800), fixed: r.IntN(2) == 0}
			before := l.Usage().Held
			var err error
			if m.fixed {
				m.hold, err = l.Take(c, m.bytes)
			} else {
				m.hold, err = l.TakeUntil(c, m.bytes, func() { m.ended = true })
			}
			if err == nil {
				all = append(all, m)
				checkTaken(t, all, m, before)
			}
		case 2, 3:
			if len(all) > 0 {
				i := r.IntN(len(all))
				all[i].hold.Release()
				all = slices.Delete(all, i, i+1)
			}
		case 4:
			if len(all) > 0 {
				m, bytes := all[r.IntN(len(all))], 1+r.Int64N(800)
				if m.hold.Resize(bytes) == nil {
					if m.ended && bytes > m.bytes {
						t.Fatal("a revoked hold has grown")
					}
					m.bytes = bytes
				}
			}
		}
		if r.IntN(200) == 0 {
			l.Shed(r.Int64N(1000))
		}
		checkTotals(t, l, all, step)
	}
	for _, m := range all {
		m.hold.Release()
	}
	if u := l.Usage(); u.Held != 0 || len(l.groups) != 0 || len(l.heaviest) != 0 || l.leaving != 0 {
		t.Errorf("after the end: %+v", u)
	}
}

// checkTotals checks that the total is the sum of the holds, and that the system lost nothing.
func checkTotals(t *testing.T, l *Ledger, all []*model, step int) {
	t.Helper()
	var sum, leaving int64
	for _, m := range all {
		sum += m.bytes
		if m.ended {
			leaving += m.bytes
		}
		if m.ended != m.hold.Revoked() || m.ended && (m.by.Reserved || m.fixed) {
			t.Fatalf("step %d: ended %v, revoked %v: %+v", step, m.ended, m.hold.Revoked(), m.by)
		}
	}
	if u := l.Usage(); u.Held != sum || l.leaving != leaving || sum > u.Total+u.Total/overdraftPart {
		t.Fatalf("step %d: %+v, leaving %d, in the model %d, leaving %d", step, u, l.leaving, sum, leaving)
	}
}

// checkTaken checks that the group of a new fixed hold leaves a third of its fixed bytes, besides what is leaving.
func checkTaken(t *testing.T, all []*model, m *model, before int64) {
	t.Helper()
	if m.by.Reserved || !m.fixed {
		return
	}
	var fixed, held int64
	for _, other := range all {
		if !other.ended {
			held += other.bytes
		}
		if other.by.Group == m.by.Group && other.fixed {
			fixed += other.bytes
		}
	}
	if free := 15_000 - held; fixed > share*free {
		t.Fatalf("a group has %d fixed bytes and leaves %d; %d were held before", fixed, free, before)
	}
}

func TestANilLedgerCountsNothing(t *testing.T) {
	var a Account
	h, err := a.TakeUntil(1<<40, nil)
	if err != nil || h.Resize(1<<50) != nil || h.Revoked() {
		t.Error(err)
	}
	h.Release()
}

// Requests whose bodies stall hold as much as they may: unknown tokens are reviewed all the same.
func TestFixedHoldsOfAnyNumberOfGroupsLeaveRoomForRevocableOnes(t *testing.T) {
	l := NewMemory(1<<30, 1<<20).Unauthenticated
	for i := range 100 {
		for n := int64(1 << 24); n > 1<<10; {
			if _, err := l.Take(Caller{Group: fmt.Sprint(i)}, n); err != nil {
				n /= 2
			}
		}
	}
	if _, err := l.TakeUntil(Caller{Group: "new token"}, 64<<10, func() {}); err != nil {
		t.Errorf("%v; %+v", err, l.Usage())
	}
}
