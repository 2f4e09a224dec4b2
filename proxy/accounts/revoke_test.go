package accounts

import (
	"fmt"
	"math"
	"testing"
)

// Another caller holds what is in the way, and that cannot be taken back.
func TestRefusedGrowthEndsNoGrantOfOthers(t *testing.T) {
	for _, r := range []Resource{Streams, Strangers} { // the newest and the oldest end first
		t.Run(r.String(), func(t *testing.T) {
			l := New(of(r, 10), math.MaxInt64)
			if n := take(l.Account(ByUser("fixed")), r, 5, nil); n != 5 {
				t.Fatalf("%d of 5", n)
			}
			var grants []*Grant
			for i := range 5 {
				g, err := l.Account(ByUser("revocable")).TakeRevocable(r, 1, func() { t.Errorf("grant %d ends", i) })
				if err != nil {
					t.Fatal(err)
				}
				grants = append(grants, g)
			}
			if _, err := l.Account(ByUser("late")).Take(r, 4); err == nil {
				t.Error("granted")
			}
			u := l.Usage(r)
			if u.Used != 10 || u.Revoked != 0 || u.Refused != 1 {
				t.Errorf("used as %+v", u)
			}
			i := 0
			for e := grants[0].holder.revocable.Front(); e != nil; e = e.Next() {
				if g := e.Value.(*Grant); g != grants[i] || g.Ended() {
					t.Errorf("grant %d is not in its place, or has ended", i)
				}
				i++
			}
		})
	}
}

// A body needs what many watches of another caller hold.
func TestLargeGrantEndsManySmallOnes(t *testing.T) {
	const watch, body = 16 << 10, 3 << 20
	l := New(Totals{Requests: math.MaxInt64, Bodies: math.MaxInt64}, 64<<20)
	for heavy := l.Account(ByUser("heavy")); ; {
		if _, err := heavy.TakeRevocable(Requests, watch, func() {}); err != nil {
			break
		}
	}
	if _, err := l.Account(ByUser("light")).Take(Bodies, body); err != nil {
		t.Error(err)
	}
}

// The oldest of an account ends in favor of its others, but not in favor of itself.
func TestGrantDoesNotGrowAtItsOwnExpense(t *testing.T) {
	l := New(Totals{Held: 10}, math.MaxInt64)
	a := l.Account(ByUser("a"))
	oldest, _ := a.TakeRevocable(Held, 4, func() { t.Error("the oldest ends") })
	if _, err := a.TakeRevocable(Held, 4, func() { t.Error("another ends") }); err != nil {
		t.Fatal(err)
	}
	if err := oldest.Resize(7); err == nil || oldest.Ended() || l.Usage(Held).Used != 8 {
		t.Errorf("%v, ended %v, %d are used", err, oldest.Ended(), l.Usage(Held).Used)
	}
}

// An account whose grants are all busy leaves room for other accounts.
func TestSharedGrantsLeaveOthersAPart(t *testing.T) {
	l := New(Totals{Held: 100}, math.MaxInt64)
	for i, want := range []int{75, 18, 5} {
		n, a := 0, l.Account(ByUser(fmt.Sprint("user", i)))
		for {
			if _, err := a.TakeShared(Held, 1, func() bool { return true }, func() { t.Error("a busy one ends") }); err != nil {
				break
			}
			n++
		}
		if n != want {
			t.Errorf("the %d. account has %d, not %d", i+1, n, want)
		}
	}
}

// Otherwise many addresses with a connection each would keep every other one out.
func TestNewConnectionOfAStrangerReplacesOneWhereEachAddressHasOne(t *testing.T) {
	l := New(Totals{Strangers: 2}, math.MaxInt64)
	var ended []string
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		if take(l.Account(ByAddress(address)), Strangers, 1, func() { ended = append(ended, address) }) != 1 {
			t.Errorf("%s is kept out", address)
		}
	}
	if len(ended) != 1 {
		t.Errorf("of three in two places these end: %v", ended)
	}
}

// The last bytes of a resource may be bytes of memory that another resource takes.
func TestMemoryThatAnotherResourceTakesIsTakenBackForTheLastOfAResource(t *testing.T) {
	l := New(Totals{Requests: 100, Bodies: 100}, 160) // an eighth of it is apart
	ended := false
	for _, of := range []struct {
		user     string
		resource Resource
		bytes    int64
	}{{"heavy", Bodies, 80}, {"light", Requests, 40}, {"last", Requests, 60}} {
		if _, err := l.Account(ByUser(of.user)).TakeRevocable(of.resource, of.bytes, func() { ended = of.user == "heavy" }); err != nil {
			t.Errorf("%s: %v", of.user, err)
		}
	}
	if !ended {
		t.Error("the heaviest has lost nothing")
	}
}

// Silent connections, strangers and unverified requests have memory of their own, so that their end would give the others none.
func TestScarceMemoryEndsNothingThatHasMemoryApart(t *testing.T) {
	l := New(Totals{Connections: 100, Unverified: 100, Requests: math.MaxInt64}, 160*rows[Connections].Bytes)
	heavy, ended := l.Account(ByUser("heavy")), 0
	take(heavy, Unverified, 1, func() { t.Error("what is apart ends") })
	take(heavy, Connections, 100, func() { ended++ })
	if _, err := l.Account(ByUser("light")).TakeRevocable(Requests, 50*rows[Connections].Bytes, func() {}); err != nil || ended != 20 {
		t.Errorf("%v, and %d connections ended, want 20", err, ended)
	}
}

// The heaviest holds connections, whose end frees none of what is scarce.
func TestScarceResourceEndsNothingOfOthersWhileThereIsMemory(t *testing.T) {
	l := New(Totals{Connections: 100, Requests: 100}, math.MaxInt64)
	take(l.Account(ByUser("heavy")), Connections, 100, func() { t.Error("a connection ends") })
	take(l.Account(ByUser("watcher")), Requests, 80, func() {})
	if _, err := l.Account(ByUser("light")).Take(Requests, 18); err != nil {
		t.Errorf("what a lighter account needs is not taken back: %v", err)
	}
}

// While a total is used up, what one more costs must not grow with the number of callers.
func BenchmarkTakeWhileScarce(b *testing.B) {
	for _, callers := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			l := New(Totals{Streams: int64(2 * callers)}, math.MaxInt64)
			for i := range callers {
				take(l.Account(ByUser(fmt.Sprint("user", i))), Streams, 1, func() {})
			}
			take(l.Account(ByUser("heavy")), Streams, callers, func() {})
			light := l.Account(ByUser("light"))
			for b.Loop() {
				g, err := light.TakeRevocable(Streams, 1, func() {})
				if err != nil {
					b.Fatal(err)
				}
				g.Release()
				take(l.Account(ByUser("heavy")), Streams, 1, func() {})
			}
		})
	}
}

// of returns totals of one resource.
func of(r Resource, n int64) (t Totals) {
	t[r] = n
	return t
}
