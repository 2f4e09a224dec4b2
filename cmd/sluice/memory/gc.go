package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
)

const (
	// gcPercent is the growth of the heap, in percent, at which the garbage collector runs at the latest.
	gcPercent = 50
	// gcRoom is the growth, in bytes, that the heap is always allowed up to gcPercent.
	gcRoom = 48 << 20
	// gcScanPart divides the bytes that the collector has to scan: the heap may grow by that if it is more.
	gcScanPart = 2
)

// The metrics of the runtime by which the collector is tuned.
const (
	metricLive    = "/gc/heap/live:bytes"    // after the last collection
	metricScan    = "/gc/scan/total:bytes"   // scanned by it, stacks and global variables included
	metricStacks  = "/gc/scan/stack:bytes"   // of that, stacks
	metricGlobals = "/gc/scan/globals:bytes" // of that, global variables
)

// gcTuner sets how much garbage may gather before the next collection. Most of the heap is objects and
// encoded bytes, which live long and contain no pointers: a collection costs by the bytes it scans, not by
// those that live. Go's collector runs when the heap has grown by a share of its live bytes, so a store of 1 GB would
// make room for as much garbage, although it costs no more to collect than a store of as many small objects.
type gcTuner struct {
	mu      sync.Mutex
	samples []runtimemetrics.Sample
	percent int
}

// TuneGC tunes the garbage collector after each collection, unless the environment variable GOGC does.
func TuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	t := &gcTuner{}
	for _, name := range []string{metricLive, metricScan, metricStacks, metricGlobals} {
		t.samples = append(t.samples, runtimemetrics.Sample{Name: name})
	}
	t.tune()
	t.afterCollection()
}

// afterCollection calls tune after each collection: a finalizer runs once its object was found unreachable.
func (t *gcTuner) afterCollection() {
	sentinel := new([16]byte) // smaller objects may share an allocation, and their finalizers may never run
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		t.tune()
		t.afterCollection()
	})
}

func (t *gcTuner) tune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	runtimemetrics.Read(t.samples)
	live, scan := t.samples[0].Value.Uint64(), t.samples[1].Value.Uint64()
	percent := gcPercentFor(live, scan, t.samples[2].Value.Uint64()+t.samples[3].Value.Uint64())
	if percent != t.percent {
		t.percent = percent
		debug.SetGCPercent(percent)
	}
}

// gcPercentFor returns the growth in percent for a heap by its live bytes, those to scan, and those of the roots among these:
// stacks and global variables, of which the runtime lets the heap grow by the same percentage as of live bytes.
func gcPercentFor(live, scan, roots uint64) int {
	room := max(gcRoom, scan/gcScanPart)
	return max(1, min(gcPercent, int(room*100/max(1, live+roots))))
}
