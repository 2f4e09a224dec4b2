package accounts

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
)

// held is what a test has taken.
type held struct {
	account   Account
	resource  Resource
	grant     *Grant
	amount    int64
	revocable bool
}

// TestTotalsAndSharesHoldAtAnyTime drives random callers. Totals are small, so that all of them are scarce.
func TestTotalsAndSharesHoldAtAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			totals := Totals{Silent: 5, Strangers: 20, Connections: 20, Unverified: 1 << 20, Requests: 1 << 20, Bodies: 1 << 20, Streams: 10, Held: 1 << 20}
			l := New(totals, 4<<20)
			var callers []Account
			for i := range 12 {
				key := ByUser(fmt.Sprint("user", i))
				switch i % 3 {
				case 1:
					key = ByUser(fmt.Sprintf("system:serviceaccount:ns%d:sa%d", i%2, i))
				case 2:
					key = ByAddress(fmt.Sprint("192.0.2.", i))
				}
				callers = append(callers, l.Account(key))
			}
			grants, leaving := map[*held]bool{}, map[*held]bool{}
			for step := range 5000 {
				r := Resource(random.IntN(int(numResources)))
				h := &held{account: callers[min(random.IntN(12), random.IntN(12))], resource: r, amount: 1, revocable: r == Silent || random.IntN(2) == 0}
				if rows[r].Bytes == 1 {
					h.amount = 1 + random.Int64N(100<<10)
				}
				var err error
				end := func() {
					delete(grants, h)
					leaving[h] = !r.apart()
				}
				switch {
				case h.revocable && random.IntN(2) == 0:
					h.grant, err = h.account.TakeShared(r, h.amount, nil, end)
					if p := &l.pools[r]; err == nil && p.groups[h.account.Group].used > left*min(p.limit()-p.used, p.room()) {
						t.Fatalf("%s: an account holds %d and leaves %d", r, p.groups[h.account.Group].used, p.total-p.used)
					}
				case h.revocable:
					h.grant, err = h.account.TakeRevocable(r, h.amount, end)
				default:
					h.grant, err = h.account.Take(r, h.amount)
				}
				if err == nil {
					grants[h] = true
				}
				for g := range grants {
					if random.IntN(40) == 0 {
						g.grant.Release()
						delete(grants, g)
					} else if random.IntN(40) == 0 && g.grant.Resize(g.amount/2+1) == nil {
						g.amount = g.amount/2 + 1
					}
				}
				for g := range leaving {
					if random.IntN(10) == 0 {
						g.grant.Release()
						delete(leaving, g)
					}
				}
				check(t, l, totals, grants, leaving)
				if step%25 == 0 {
					checkRankings(t, l)
				}
			}
			maps.Copy(grants, leaving)
			for g := range grants {
				g.grant.Release()
				g.grant.Release()
			}
			for r := range l.pools {
				if p := &l.pools[r]; p.used != 0 || len(p.groups) != 0 {
					t.Errorf("%s: %d of %v are left", Resource(r), p.used, p.groups)
				}
			}
			if used, _ := l.Memory(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}

// check compares what a Ledger says with what is held and what is leaving, and with the totals.
func check(t *testing.T, l *Ledger, totals Totals, grants, leaving map[*held]bool) {
	t.Helper()
	var used Totals
	for g := range grants {
		used[g.resource] += g.amount
	}
	var memory int64
	for r := range l.pools {
		u := l.Usage(Resource(r))
		total := totals[r]
		if Resource(r) == Silent {
			total += totals[Connections] - used[Connections]
		}
		if u.Used != used[r] || u.Used > total {
			t.Fatalf("%s: %d are used of %d, %d are held", Resource(r), u.Used, total, used[r])
		}
		memory += used[r] * rows[r].Bytes
	}
	var left int64
	for g, common := range leaving {
		if common {
			left += g.amount * rows[g.resource].Bytes
		}
	}
	if got, total := l.Memory(); got != memory+left || memory > total {
		t.Fatalf("%d bytes are used of %d, %d are held and %d leaving", got, total, memory, left)
	}
}

// checkRankings checks all rankings.
func checkRankings(t *testing.T, l *Ledger) {
	t.Helper()
	checkRanking(t, l.ranked, maps.Values(l.shares))
	for r := range l.pools {
		checkRanking(t, l.pools[r].ranked, maps.Values(l.pools[r].groups))
		for _, g := range l.pools[r].groups {
			checkRanking(t, g.ranked, maps.Values(g.accounts))
		}
	}
}

// checkRanking checks that a ranking has those of all that hold something that can be taken back, the heaviest first.
func checkRanking[T interface{ amounts() *amount }](t *testing.T, r ranking[T], all iter.Seq[T]) {
	t.Helper()
	var most int64
	n := 0
	for x := range all {
		if a := x.amounts(); a.used > a.fixed {
			n++
			most = max(most, a.used)
		}
	}
	if len(r.All) != n || n > 0 && r.used(0) != most {
		t.Fatalf("%d of %d are ranked; the heaviest holds %d", len(r.All), n, most)
	}
}

// take takes n times one of a resource, revocable if end is not nil, and returns how many were granted.
func take(a Account, r Resource, n int, end func()) (granted int) {
	for range n {
		var err error
		if end != nil {
			_, err = a.TakeRevocable(r, 1, end)
		} else {
			_, err = a.Take(r, 1)
		}
		if err == nil {
			granted++
		}
	}
	return granted
}

func TestOneCallerMayHoldAllThatCanBeTakenBack(t *testing.T) {
	l := New(Totals{Connections: 100}, math.MaxInt64)
	agents := l.Account(ByUser("system:serviceaccount:kube-system:agent"))
	ended := 0
	if n := take(agents, Connections, 101, func() { ended++ }); n != 100 || ended != 0 {
		t.Errorf("it has %d of 100, %d were taken back", n, ended)
	}
	if n := take(l.Account(ByUser("jane")), Connections, 10, func() { t.Error("a newcomer loses") }); n != 10 || ended != 10 {
		t.Errorf("another caller gets %d, %d were taken back", n, ended)
	}
}

func TestCallersCompeteForEqualShares(t *testing.T) {
	l := New(Totals{Streams: 90}, math.MaxInt64)
	var names []string
	for _, name := range []string{"a", "b", "c"} {
		for range 90 {
			_, _ = l.Account(ByUser(name)).TakeRevocable(Streams, 1, func() {})
		}
		names = append(names, name)
	}
	for _, name := range names {
		if n := l.pools[Streams].groups["user:"+name].used; n < 29 || n > 31 {
			t.Errorf("%s has %d of 90", name, n)
		}
	}
	if err := func() error { _, err := l.Account(ByUser("a")).TakeRevocable(Streams, 1, func() {}); return err }(); err == nil {
		if n := l.pools[Streams].groups["user:a"].used; n > 31 {
			t.Errorf("one with its share takes more: %d", n)
		}
	}
}

// Whoever may create service accounts gains no share by it.
func TestServiceAccountsOfANamespaceAreOneGroup(t *testing.T) {
	l := New(Totals{Streams: 100}, math.MaxInt64)
	for i := range 100 {
		take(l.Account(ByUser(fmt.Sprintf("system:serviceaccount:evil:sa%d", i))), Streams, 1, func() {})
	}
	if n := take(l.Account(ByUser("system:serviceaccount:good:sa")), Streams, 60, func() {}); n < 50 {
		t.Errorf("another namespace gets %d of 100", n)
	}
}

func TestHeaviestAccountOfAGroupLosesFirst(t *testing.T) {
	l := New(Totals{Streams: 10}, math.MaxInt64)
	lost := map[string]int{}
	of := func(name string, n int) int {
		return take(l.Account(ByUser("system:serviceaccount:ns:"+name)), Streams, n, func() { lost[name]++ })
	}
	of("heavy", 8)
	of("light", 2)
	if n := of("new", 2); n != 2 || lost["heavy"] != 2 || lost["light"] != 0 {
		t.Errorf("the new one gets %d, lost are %v", n, lost)
	}
}

// What cannot be taken back is never exhausted by one caller.
func TestOneCallerLeavesAQuarterOfWhatCannotBeTakenBack(t *testing.T) {
	l := New(Totals{Bodies: 100}, math.MaxInt64)
	if n := take(l.Account(ByUser("a")), Bodies, 100, nil); n != 75 {
		t.Errorf("the first has %d", n)
	}
	if n := take(l.Account(ByUser("b")), Bodies, 100, nil); n < 15 {
		t.Errorf("the second gets %d", n)
	}
	if n := take(l.Account(ByUser("c")), Bodies, 1, nil); n != 1 {
		t.Error("the third gets nothing")
	}
}

func TestResourcesShareTheMemory(t *testing.T) {
	l := New(Totals{Requests: 1000, Connections: 1000}, 100*rows[Connections].Bytes)
	ended := 0
	if n := take(l.Account(ByUser("a")), Connections, 200, func() { ended++ }); n != 81 {
		t.Errorf("%d connections in 13/16 of the memory of 100", n)
	}
	if _, err := l.Account(ByUser("b")).TakeRevocable(Connections, 1, func() {}); err != nil || ended != 1 {
		t.Errorf("a connection in memory that another holds: %v, and %d connections ended", err, ended)
	}
	if _, err := l.Account(ByUser("a")).Take(Requests, 1<<20); err == nil || ended != 1 {
		t.Errorf("the heaviest gets more: %v, and %d connections ended", err, ended)
	}
}

func TestBusyGrantsStay(t *testing.T) {
	l := New(Totals{Strangers: 2}, math.MaxInt64)
	busy, ended := map[int]bool{0: true, 1: true}, -1
	address := l.Account(ByAddress("192.0.2.1"))
	for i := range 2 {
		if _, err := address.TakeWhileBusy(Strangers, 1, func() bool { return busy[i] }, func() { ended = i }); err != nil {
			t.Fatal(err)
		}
	}
	other := l.Account(ByAddress("192.0.2.2"))
	if _, err := other.TakeWhileBusy(Strangers, 1, nil, func() {}); err == nil {
		t.Error("a busy connection makes room")
	}
	busy[1] = false
	if _, err := other.TakeWhileBusy(Strangers, 1, nil, func() {}); err != nil || ended != 1 {
		t.Errorf("%v, ended %d", err, ended)
	}
}

func TestGrantThatWasTakenBackStaysEmpty(t *testing.T) {
	l := New(Totals{Streams: 2}, math.MaxInt64)
	a := l.Account(ByUser("a"))
	first, _ := a.TakeRevocable(Streams, 1, func() {})
	second, _ := a.TakeRevocable(Streams, 1, func() {})
	if _, err := l.Account(ByUser("b")).TakeRevocable(Streams, 1, func() {}); err != nil {
		t.Fatal(err)
	}
	if first.Ended() || !second.Ended() || second.Resize(1) != nil {
		t.Error("the newest was not taken back")
	}
	second.Release()
	if n := l.Usage(Streams).Used; n != 2 {
		t.Errorf("%d are used", n)
	}
	var none Account
	if g, err := none.Take(Streams, 5); g != nil || err != nil || g.Resize(9) != nil || g.Ended() {
		t.Error("the zero account counts")
	}
	first.Release()
}

func TestHeaviestIsTheGroupWithTheMost(t *testing.T) {
	l := New(Totals{Requests: 1000, Streams: 1000}, 1<<30)
	if got := l.Heaviest(Requests); got != "" {
		t.Errorf("%q holds most of nothing", got)
	}
	for name, n := range map[string]int64{"jane": 30, "joe": 30, "system:serviceaccount:ns:a": 20, "system:serviceaccount:ns:b": 20} {
		if _, err := l.Account(ByUser(name)).Take(Requests, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Heaviest(Requests); got != "namespace:ns" {
		t.Errorf("%q holds the most", got)
	}
	if got := l.Heaviest(Streams); got != "" {
		t.Errorf("%q holds streams", got)
	}
}

// Else each newcomer would be the next to go, and those who came first would keep everybody out.
func TestOldestOfEqualHoldersMakesRoom(t *testing.T) {
	l := New(Totals{Silent: 20}, 1<<30)
	var ended []int
	for i := range 40 {
		_, err := l.Account(ByAddress(fmt.Sprint("192.0.2.", i))).TakeRevocable(Silent, 1, func() { ended = append(ended, i) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, of := range ended {
		if i != of {
			t.Fatalf("they have ended in the order %v", ended)
		}
	}
	if len(ended) != 20 {
		t.Errorf("%d have ended", len(ended))
	}
}

// Hundreds of grants that are busy hide none behind them.
func TestBusyGrantsHideNoOthers(t *testing.T) {
	l := New(Totals{Strangers: 2 * maxBusy}, 1<<30)
	var ended int
	for i := range 2 * maxBusy {
		_, err := l.Account(ByAddress("192.0.2.1")).TakeWhileBusy(Strangers, 1, func() bool { return i < 2*maxBusy-1 }, func() { ended = i })
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, _ = l.Account(ByAddress("192.0.2.2")).TakeWhileBusy(Strangers, 1, func() bool { return true }, func() {})
	}
	if ended != 2*maxBusy-1 {
		t.Error("the one that is not busy stays")
	}
}
