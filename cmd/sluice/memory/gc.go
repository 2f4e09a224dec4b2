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
	// gcScanPart divides what the collector has to scan, which is the growth that it is allowed if that is more.
	gcScanPart = 2
)

// The metrics of the runtime by which the collector is tuned.
const (
	metricLive = "/gc/heap/live:bytes"  // what the last collection has left
	metricScan = "/gc/scan/total:bytes" // what it had to scan
)

// gcTuner sets how much garbage may gather before the next collection. Most of the heap is objects and
// encoded bytes, which live long and contain no pointers: a collection costs what it scans, not what
// lives. Go's collector runs when the heap has grown by a share of what lives, so a store of 1 GB would
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
	t := &gcTuner{samples: []runtimemetrics.Sample{{Name: metricLive}, {Name: metricScan}}}
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
	percent := gcPercentFor(t.samples[0].Value.Uint64(), t.samples[1].Value.Uint64())
	if percent != t.percent {
		t.percent = percent
		debug.SetGCPercent(percent)
	}
}

// gcPercentFor returns the growth in percent for a heap by its live bytes and those to scan.
func gcPercentFor(live, scan uint64) int {
	room := max(gcRoom, scan/gcScanPart)
	if live <= room*100/gcPercent {
		return gcPercent
	}
	return max(1, int(room*100/live))
}
