package memory

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// releaseEvery is the time between two looks at memory that can be returned to the operating system.
	releaseEvery = 3 * time.Second
	// releaseFrom is the least memory, in bytes, that is worth a collection.
	releaseFrom = 16 << 20
	// releaseShare is the least memory, as a share of the live bytes, that is worth a collection.
	releaseShare = 0.03
	// releaseRest is how many times as long as a release took Sluice waits before the next one.
	releaseRest = 100
)

// Metrics of the runtime by which memory is released.
const (
	metricObjects = "/memory/classes/heap/objects:bytes" // live objects, and garbage that has not been swept
	metricFree    = "/memory/classes/heap/free:bytes"    // memory without objects that is not returned
	metricAllocs  = "/gc/heap/allocs:bytes"              // allocated since the start
)

// releaser returns memory to the operating system that the process has stopped using. The runtime keeps a
// tenth more than the heap has needed at its largest since the last collection but one. That is little
// beside garbage, but most of this heap is objects and encoded bytes, which live long: a tenth of them is
// several times the memory of requests.
type releaser struct {
	samples   []runtimemetrics.Sample
	allocated uint64    // up to the last look
	earliest  time.Time // the next release
}

func newReleaser() *releaser {
	return &releaser{samples: []runtimemetrics.Sample{
		{Name: metricLive}, {Name: metricObjects}, {Name: metricFree}, {Name: metricAllocs},
	}}
}

// Release returns memory to the operating system that the process has stopped using, until ctx ends.
func Release(ctx context.Context) error {
	r := newReleaser()
	wait.UntilWithContext(ctx, func(context.Context) { r.look() }, releaseEvery)
	return nil
}

// look releases memory if there is enough of it, and less has been allocated since the last look. Releasing
// takes a collection, so that it may take a hundredth of the time.
func (r *releaser) look() {
	runtimemetrics.Read(r.samples)
	live, objects, free, allocs := r.samples[0].Value.Uint64(), r.samples[1].Value.Uint64(), r.samples[2].Value.Uint64(),
		r.samples[3].Value.Uint64()
	recent := allocs - r.allocated
	r.allocated = allocs
	begin := time.Now()
	if begin.Before(r.earliest) || !worthReleasing(live, free+objects-min(live, objects), recent) {
		return
	}
	debug.FreeOSMemory()
	end := time.Now()
	r.earliest = end.Add(releaseRest * end.Sub(begin))
}

// worthReleasing reports whether so many bytes that are not live are worth a collection, when the process
// allocates others at a rate of recent bytes per look.
func worthReleasing(live, unused, recent uint64) bool {
	return unused >= max(releaseFrom, uint64(releaseShare*float64(live))) && recent < unused
}
