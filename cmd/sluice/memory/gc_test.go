package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRoomForGarbageGrowsWithWhatIsScannedNotWithWhatLives(t *testing.T) {
	for _, c := range []struct {
		name       string
		live, scan uint64
		want       int
	}{
		{"before the first collection", 0, 0, gcPercent},
		{"small heap", 90 << 20, 40 << 20, gcPercent},
		{"large heap of bytes", 1000 << 20, 10 << 20, 4}, // 48 MiB
		{"large heap to scan", 1000 << 20, 400 << 20, 20},
		{"large heap of pointers", 1000 << 20, 900 << 20, 45},
		{"very large heap of bytes", 100 << 30, 1 << 20, 1},
	} {
		if got := gcPercentFor(c.live, c.scan); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}

// held keeps the garbage collector from freeing what a test allocates.
var held [][]byte

func TestALargeHeapWithoutPointersLowersGCPercent(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() {
		held = nil
		debug.SetGCPercent(before)
	})
	TuneGC()
	for range 16 {
		held = append(held, make([]byte, 16<<20))
	}
	for { // until the runtime has run the finalizer after a collection
		runtime.GC()
		percent := debug.SetGCPercent(gcPercent) // there is no other way to read it
		debug.SetGCPercent(percent)
		if percent < gcPercent {
			return
		}
	}
}
