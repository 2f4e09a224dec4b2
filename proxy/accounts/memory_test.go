package accounts

import "testing"

// One user with many connections or watches uses up the memory of all resources, before the total of the
// one that it holds.
func TestMemoryUsedUpByOneResourceKeepsNobodyOut(t *testing.T) {
	for _, held := range []Resource{Connections, Requests} {
		t.Run(held.String(), func(t *testing.T) {
			const memory = 64 << 20
			l := New(Totals{Strangers: 100, Connections: 1 << 20, Unverified: 1 << 20, Requests: 1 << 40, Bodies: 1 << 40, Streams: 1 << 20, SlowResponses: 100}, memory)
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
