package fence

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
)

// underWay begins reads of a length.
func underWay(f *Fence, n int, bytes int64) (reads []*Read) {
	for range n {
		reads = append(reads, f.begin(bytes))
	}
	return reads
}

// alone reports whether no other read is under way.
func alone(r *Read) bool { return r.fence.Facts().Reads == 1 }

func end(reads []*Read) {
	for _, r := range reads {
		r.End()
	}
}

// The client of a forwarded read may take long to read the response.
func TestAForwardedReadIsUnderWayUntilItIsAnswered(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		slow := underWay(f, 3, 1<<20)
		for _, r := range slow {
			r.forward()
		}
		r := f.begin(0)
		if alone(r) {
			t.Error("alone while others wait for their response")
		}
		for _, r := range slow {
			r.Answered()
		}
		if !alone(r) {
			t.Error("not alone once the others are answered")
		}
		time.Sleep(time.Second)
		if f.Facts().pays(readWork(1 << 20)) {
			t.Error("responses that clients read slowly pay for a proof")
		}
		end(slow)
		if got, want := f.Stats(), 3*readWork(1<<20).Seconds(); !alone(r) || got.Forwarded != 3 || got.Seconds < want*0.999 || got.Seconds > want*1.001 {
			t.Errorf("%+v, want %v s", got, want)
		}
	})
}

// Beyond the allowance an inventory is taken if the reads that wait for it would cost the apiserver more.
func TestReadsLendTheInventoryWhatTheyWouldCost(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		fill(t, a, s)
		a.inventoryBytes = 1 << 20
		f.allowance.charge(time.Hour, 0)
		prove := func(n int, bytes int64, want Proof) {
			t.Helper()
			version := a.writeElsewhere()
			reads := underWay(f, n, bytes)
			defer end(reads)
			var all sync.WaitGroup
			for range reads {
				all.Go(func() {
					if proof, err := f.confirm(t.Context(), version); err != nil || proof != want {
						t.Errorf("%d reads of %d bytes: %v, %v", n, bytes, proof, err)
					}
				})
			}
			all.Wait()
		}
		prove(1, 0, BySecondWatch)
		before, taken := f.Stats(), a.inventories.Load()
		prove(1, 1<<20, ByInventory)
		prove(20, 0, ByInventory)
		got := f.Stats()
		if a.inventories.Load() != taken+2 || got.Seconds != before.Seconds || got.Uncharged != 2*min(a.inventoryTime, inventoryWork(1<<20)).Seconds() {
			t.Errorf("%+v after %+v", got, before)
		}
	})
}

// Readers that arrive one after the other wait for the proof that the first of them has begun to wait for.
func TestALaterReadBringsTheInventoryForward(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		fill(t, a, s)
		f.allowance.charge(time.Hour, 0)
		version := a.writeElsewhere()
		start := time.Now()
		var all sync.WaitGroup
		read := func(bytes int64) {
			defer f.begin(bytes).End()
			if proof, err := f.confirm(t.Context(), version); err != nil || proof != ByInventory || time.Since(start) > a.inventoryTime {
				t.Error(proof, err, time.Since(start))
			}
		}
		all.Go(func() { read(0) })
		synctest.Wait()
		all.Go(func() { read(1 << 30) })
		all.Wait()
	})
}

func TestForwardedReadsAreChargedUntilTheAllowanceIsSpent(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		forward := func(bytes int64, took time.Duration) {
			r := f.begin(bytes)
			r.forward()
			time.Sleep(took)
			r.End()
		}
		if f.begin(1<<28).work <= quickWork {
			t.Error("a read that takes longer than a second watch is forwardable")
		}
		forward(1<<20, time.Second)
		want := Stats{Forwarded: 1, Seconds: readWork(1 << 20).Seconds()}
		if got := f.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		forward(0, requestWork/2)
		f.allowance.charge(5*time.Second, 0) // what it saves in 100 s
		forward(1<<20, time.Second)
		want = Stats{Forwarded: 3, Seconds: (readWork(1<<20) + requestWork/2).Seconds(), Uncharged: readWork(1 << 20).Seconds()}
		if got := f.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		time.Sleep(2 * time.Minute)
		if forward(0, 0); f.Stats().Uncharged != want.Uncharged {
			t.Error("the allowance does not recover")
		}
	})
}
