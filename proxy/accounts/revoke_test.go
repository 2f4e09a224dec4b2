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
	l := New(Totals{Requests: 100 << 4, Bodies: 100 << 4}, 160<<4) // three sixteenths of it are apart
	ended := false
	for _, of := range []struct {
		user     string
		resource Resource
		bytes    int64
	}{{"heavy", Bodies, 80 << 4}, {"other", Requests, 49 << 4}, {"last", Requests, 10 << 4}} {
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

// A client whose connections end for want of memory comes again at once, while the old ones still take it.
func TestWhatIsTakenBackIsFreeForOthersWhenItHasLeft(t *testing.T) {
	const memory, each = 160 << 20, 1 << 20
	l := New(Totals{Requests: memory, Held: memory}, memory)
	heavy, other, light := l.Account(ByUser("heavy")), l.Account(ByUser("other")), l.Account(ByUser("light"))
	var grants, leaving []*Grant
	for {
		i := len(grants)
		g, err := heavy.TakeRevocable(Requests, each, func() { leaving = append(leaving, grants[i]) })
		if err != nil {
			break
		}
		grants = append(grants, g)
	}
	if _, err := light.Take(Held, each); err != nil || len(leaving) < 1 {
		t.Fatalf("who takes little gets %v, and %d grants end", err, len(leaving))
	}
	ended := len(leaving)
	for range 3 {
		if _, err := heavy.TakeRevocable(Requests, each, func() {}); err == nil || len(leaving) != ended {
			t.Errorf("the heaviest gets %v, and %d grants more end", err, len(leaving)-ended)
		}
	}
	if _, err := other.TakeRevocable(Held, 11*each, func() {}); err != nil {
		t.Error("who takes less than it leaves is refused:", err)
	}
	for _, g := range leaving {
		g.Release()
		g.Release()
	}
	if used, _ := l.Memory(); used > memory {
		t.Errorf("%d bytes are used of %d", used, memory)
	}
}

// Else whoever takes much would keep for good who takes less from taking more: what it lost it would take again.
func TestGroupThatTakesMuchKeepsNoOtherFromGrowing(t *testing.T) {
	const each = 50 << 10
	l := New(Totals{Requests: math.MaxInt64 >> 10}, 16<<20)
	other, greedy := l.Account(ByUser("other")), l.Account(ByUser("greedy"))
	for range 24 {
		if _, err := other.TakeRevocable(Requests, each, func() { t.Error("the lighter one loses") }); err != nil {
			t.Fatal(err)
		}
	}
	var leaving []*Grant
	for range 100 {
		for {
			var g *Grant
			var err error
			if g, err = greedy.TakeRevocable(Requests, each, func() { leaving = append(leaving, g) }); err != nil {
				break
			}
		}
		if _, err := other.TakeRevocable(Requests, each, func() { t.Error("the lighter one loses") }); err != nil {
			t.Fatal(err)
		}
		for _, g := range leaving {
			g.Release()
		}
		leaving = nil
	}
}

// A body that is complete takes no more than before.
func TestBodyIsKeptWhileOthersAreLeaving(t *testing.T) {
	l := New(Totals{Requests: math.MaxInt64 >> 10}, 16<<20)
	body, err := l.Account(ByUser("a")).TakeRevocable(Requests, 2<<20, func() { t.Error("it ends") })
	if err != nil {
		t.Fatal(err)
	}
	for range 11 {
		if _, err := l.Account(ByUser("b")).TakeRevocable(Requests, 1<<20, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		if _, err := l.Account(ByUser(fmt.Sprint("light", i))).TakeRevocable(Requests, 900<<10, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := body.Keep(); err != nil {
		t.Error(err)
	}
}

// A connection holds the answers that refuse its requests, however little memory there is; but all of them together not too many.
func TestWhatIsTakenAlthoughItIsRefusedIsLittle(t *testing.T) {
	const memory, each = 160 << 20, 128 << 10
	l := New(Totals{Requests: 1, Held: memory}, memory)
	var grants []*Grant
	for {
		g, err := l.Account(ByUser("a")).TakeRevocable(Requests, 0, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Resize(each); err == nil {
			t.Fatal("granted")
		}
		if !g.Owe(each) {
			break
		}
		grants = append(grants, g)
	}
	if used, _ := l.Memory(); used != memory/mostOwed || int64(len(grants)) != memory/mostOwed/each {
		t.Errorf("%d grants take %d bytes", len(grants), used)
	}
	l.SetMemory(memory / 2) // others leave more than may be owed, too
	if !grants[2].Owe(each/2) || grants[2].Owe(each) {
		t.Error("who owes cannot owe less, or owes more")
	}
	l.SetMemory(memory)
	l.SetTotals(Totals{Requests: memory})
	grants[0].End()
	if used, err := l.Usage(Requests).Used, grants[0].Resize(each); err != nil || used != 0 || l.Usage(Requests).Used != 0 {
		t.Errorf("%v; of what has ended %d bytes are used", err, l.Usage(Requests).Used)
	}
	if err := grants[1].Resize(each); err != nil || l.Usage(Requests).Used != each {
		t.Errorf("%v; %d bytes are used", err, l.Usage(Requests).Used)
	}
	for _, g := range grants {
		g.Release()
	}
	if used, _ := l.Memory(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}
