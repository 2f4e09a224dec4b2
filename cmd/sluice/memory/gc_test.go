package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRoomForGarbageGrowsWithWhatIsScannedNotWithWhatLives(t *testing.T) {
	for _, c := range []struct {
		name              string
		live, scan, roots uint64
		want              int
	}{
		{"before the first collection", 0, 0, 0, gcPercent},
		{"small heap", 80 << 20, 40 << 20, 10 << 20, gcPercent},
		{"large heap of bytes", 1000 << 20, 10 << 20, 0, 4}, // 48 MiB
		{"large heap to scan", 1000 << 20, 400 << 20, 0, 20},
		{"large heap of pointers", 1000 << 20, 900 << 20, 0, 45},
		{"very large heap of bytes", 100 << 30, 1 << 20, 0, 1},
		{"many stacks", 300 << 20, 400 << 20, 200 << 20, 40},
	} {
		if got := gcPercentFor(c.live, c.scan, c.roots); got != c.want {
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
