package accounts

import "testing"

// One user with many connections or watches uses up the memory of all resources, before the total of the
// one that it holds.
func TestMemoryUsedUpByOneResourceKeepsNobodyOut(t *testing.T) {
	for _, held := range []Resource{Connections, Requests} {
		t.Run(held.String(), func(t *testing.T) {
			const memory = 64 << 20
			l := New(Totals{Strangers: 100, Connections: 1 << 20, Unverified: 1 << 20, Requests: 1 << 40, Bodies: 1 << 40, Streams: 1 << 20}, memory)
			heavy := l.Account(ByUser("heavy"))
			for n := 0; ; n++ {
				if _, err := heavy.TakeRevocable(held, max(1, (16<<10)/rows[held].Bytes), func() {}); err != nil {
					break
				}
				if n > 1<<20 {
					t.Fatal("the memory is never used up")
				}
			}
			light := l.Account(ByUser("light"))
			stranger := l.Account(ByAddress("192.0.2.1"))
			if _, err := stranger.TakeRevocable(Strangers, 1, func() {}); err != nil {
				t.Errorf("a new connection: %v", err)
			}
			if _, err := stranger.Take(Unverified, 20<<10); err != nil {
				t.Errorf("a token that is reviewed: %v", err)
			}
			if _, err := light.TakeRevocable(Connections, 1, func() {}); err != nil {
				t.Errorf("its connection: %v", err)
			}
			if _, err := light.Take(Requests, 20<<10); err != nil {
				t.Errorf("its request: %v", err)
			}
			if _, err := light.Take(Bodies, 20<<10); err != nil {
				t.Errorf("its body: %v", err)
			}
			if _, err := light.TakeRevocable(Streams, 1, func() {}); err != nil {
				t.Errorf("its session: %v", err)
			}
		})
	}
}

// With so much memory, who holds the most gets nothing more, and keeps what it has.
func TestLeastMemoryIsWhatIsHeld(t *testing.T) {
	const memory, each = 64 << 20, 1 << 20
	l := New(Totals{Requests: memory, Held: memory, Unverified: memory}, memory)
	a := l.Account(ByUser("a"))
	for range 20 {
		if _, err := a.TakeRevocable(Held, each, func() { t.Error("taken back") }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Account(ByAddress("192.0.2.1")).Take(Unverified, each); err != nil { // which has memory of its own
		t.Fatal(err)
	}
	l.SetMemory(l.LeastMemory() + 2*each)
	g, err := a.TakeRevocable(Requests, each, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	l.SetMemory(l.LeastMemory())
	if _, err := a.Take(Requests, each); err == nil {
		t.Error("it gets memory that is not there")
	}
}
