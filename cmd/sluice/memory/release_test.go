package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestMemoryIsReleasedIfThereIsMuchAndLittleIsAllocated(t *testing.T) {
	for _, c := range []struct {
		name                 string
		live, unused, recent uint64
		want                 bool
	}{
		{"little", 50 << 20, 10 << 20, 0, false},
		{"little of a large heap", 1000 << 20, 25 << 20, 0, false},
		{"a tenth", 1000 << 20, 100 << 20, 0, true},
		{"most of a small heap", 10 << 20, 40 << 20, 30 << 20, true},
		{"in use", 1000 << 20, 100 << 20, 200 << 20, false},
	} {
		if got := worthReleasing(c.live, c.unused, c.recent); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestMemoryThatIsNotUsedAnyMoreIsReleased(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // so that nothing else releases it
	for range 4 {
		held = append(held, make([]byte, 32<<20))
	}
	held = nil
	runtime.GC() // what has died since a collection counts as live until the next one
	idle := func() uint64 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapSys - stats.HeapReleased
	}
	before := idle()
	r := newReleaser()
	r.look() // the first one, for which all that was ever allocated is recent
	r.look()
	if got := idle(); got+64<<20 > before {
		t.Errorf("%d MiB of %d are held after a quiet look", got>>20, before>>20)
	}
	if r.earliest.IsZero() {
		t.Error("the next release may follow at once")
	}
}
