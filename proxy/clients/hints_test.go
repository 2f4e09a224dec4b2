package clients

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestHintsNeedTheirEvidence provokes each hint, and comes near to it.
func TestHintsNeedTheirEvidence(t *testing.T) {
	key := Key{User: "jane", Agent: "client/v1.0", Version: "v1", Resource: "pods", Namespace: AllNamespaces}
	list := Use{Key: key, Verb: List, Outcome: Served, Ended: true, Encoded: 2 << 20, Sent: 1 << 20, Compressed: true, Asked: Asked{From: 1, Whole: true}}
	get := Use{Key: key, Verb: Get, Outcome: Served, Ended: true, Encoded: 5000, Sent: 5000, Asked: Asked{From: 1, Object: 7}}
	watchEnds := Use{Key: key, Verb: Watch, Outcome: Served, Ended: true, Asked: Asked{From: 1}}
	plain := Use{Key: key, Verb: Get, Outcome: Served, Ended: true, Encoded: 1 << 20, Sent: 1 << 20, Asked: Asked{From: 1, Plain: true}}
	json := Use{Key: key, Verb: List, Outcome: Served, Ended: true, Encoded: 75_700_000, Format: InJSON, Asked: Asked{From: 1, ClientGo: true}}
	recent := Use{Key: key, Verb: List, Outcome: Served, Ended: true, Asked: Asked{From: 1, Consistent: true}}
	type change func(i int, u *Use)
	each := func(n int, pause time.Duration, u Use, changes ...change) func(*Table) {
		return func(table *Table) {
			for i := range n {
				one := u
				for _, c := range changes {
					c(i, &one)
				}
				table.Add(&one)
				time.Sleep(pause)
			}
		}
	}
	others := func(i int, u *Use) { u.From = uint64(i + 1) }
	both := func(i int, u *Use) { // two addresses watch, the second one lists
		u.From = 2
		if i%10 < 2 {
			*u = Use{Key: key, Verb: Watch, Outcome: Served, Asked: Asked{From: uint64(2 - i%2)}}
		}
	}
	relist := func(times int, pause time.Duration, l Use) func(*Table) {
		return func(table *Table) {
			for range times {
				table.Add(&watchEnds)
				time.Sleep(pause)
				table.Add(&l)
				time.Sleep(time.Minute)
			}
		}
	}
	watching := func(do func(*Table)) func(*Table) {
		return func(table *Table) {
			w := table.Open(WatchFacts{Key: key, From: 1})
			defer w.Close()
			time.Sleep(time.Second)
			do(table)
		}
	}
	unread := func(events int, oldest time.Duration) func(*Table) {
		return func(table *Table) {
			table.Open(WatchFacts{Key: key}).Follow(func() Lag { return Lag{events, oldest} })
		}
	}
	small := list
	small.Encoded = 1000
	streaming := func(table *Table) {
		for range 5 {
			table.Add(&watchEnds)
			time.Sleep(time.Second)
			table.Open(WatchFacts{Key: key, From: 1, Initial: true}).Close()
			time.Sleep(time.Minute)
		}
	}
	for _, tt := range []struct {
		name string
		do   func(*Table)
		want string // empty for none
	}{
		{"6 long lists, one a minute", each(6, time.Minute, list), "lists-all"},
		{"5 of them", each(5, time.Minute, list), ""},
		{"6 at odd times", each(6, time.Minute, list, func(i int, _ *Use) { time.Sleep(time.Duration(i) * 10 * time.Second) }), ""},
		{"6 of short lists", each(6, time.Minute, small), ""},
		{"6 with a limit or selector", each(6, time.Minute, list, func(_ int, u *Use) { u.Whole = false }), ""},
		{"6 by 6 clients of one user", each(6, time.Minute, list, others), ""},
		{"5 lists after watches that end", relist(5, 5*time.Second, small), "relists"},
		{"5 streaming lists after watches", streaming, "relists"},
		{"4 lists", relist(4, 5*time.Second, small), ""},
		{"5 lists a minute after watches", relist(5, time.Minute, small), ""},
		{"5 pages after watches", relist(5, 5*time.Second, recent), ""},
		{"10 MB uncompressed", each(10, time.Second, plain), "uncompressed"},
		{"9 MB uncompressed", each(9, time.Second, plain), ""},
		{"10 MB in 10 minutes", each(10, time.Minute, plain), ""},
		{"10 MB that could not be compressed", each(10, time.Second, plain, func(_ int, u *Use) { u.Plain = false }), ""},
		{"JSON worth 15 s", each(24, 10*time.Second, json), "json"},
		{"JSON worth 14 s", each(21, 10*time.Second, json), ""},
		{"JSON of a custom resource", each(24, 10*time.Second, json, func(_ int, u *Use) { u.Group = "sbom.example" }), ""},
		{"JSON for another program", each(24, 10*time.Second, json, func(_ int, u *Use) { u.ClientGo = false }), ""},
		{"100 consistent lists beside a watch", watching(each(100, 30*time.Second, recent)), "most-recent"},
		{"99 of them", watching(each(99, 30*time.Second, recent)), ""},
		{"100 without a watch", each(100, 30*time.Second, recent), ""},
		{"100 beside a watch of another address", watching(each(100, 30*time.Second, recent, func(_ int, u *Use) { u.From = 2 })), ""},
		{"100 beside watches of both", watching(each(130, 20*time.Second, recent, both)), "most-recent"},
		{"30 gets of one object", each(30, time.Second, get), "polls"},
		{"29 gets", each(29, time.Second, get), ""},
		{"30 gets of 30 objects", each(30, time.Second, get, func(i int, u *Use) { u.Object = uint64(i) }), ""},
		{"30 gets by 30 clients", each(30, time.Second, get, others), ""},
		{"a watch with 101 events of 61 s", unread(101, 61*time.Second), "watch-unread"},
		{"a watch with 100 events", unread(100, 61*time.Second), ""},
		{"a watch with events of a minute", unread(101, time.Minute), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := NewTable()
				tt.do(table)
				got := ""
				for _, r := range table.List(true).Items {
					for _, h := range r.Hints {
						got += h.Name
						if h.Evidence == "" || h.Advice == "" {
							t.Errorf("%+v", h)
						}
					}
				}
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// A hint disappears when what it is about has stopped.
func TestHintsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable()
		u := Use{Key: Key{User: "jane"}, Verb: Get, Ended: true, Asked: Asked{From: 1, Object: 7}}
		for range 30 {
			table.Add(&u)
		}
		time.Sleep(keptFor)
		if n := len(table.List(true).Items[0].Hints); n != 1 {
			t.Errorf("%d hints", n)
		}
		time.Sleep(time.Second)
		if n := len(table.List(true).Items[0].Hints); n != 0 {
			t.Errorf("%d hints at the end", n)
		}
	})
}
