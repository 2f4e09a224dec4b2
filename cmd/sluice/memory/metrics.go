package memory

import (
	runtimemetrics "runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector collects the memory of the process by its holders.
type Collector struct {
	Stores  func() (objects, history int64) // returns the memory of all objects and of all histories
	Encoded func() int64                    // returns the memory of encoded objects
}

var descMemory = prometheus.NewDesc("sluice_memory_bytes", "Memory of the process by its holder.", []string{"kind"},
	nil)

// Describe implements prometheus.Collector.
func (c Collector) Describe(ch chan<- *prometheus.Desc) { ch <- descMemory }

// Collect implements prometheus.Collector.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	objects, history := c.Stores()
	k := readKinds(objects, history, c.Encoded())
	for kind, bytes := range map[string]uint64{
		"objects": k.objects, "history": k.history, "encoded": k.encoded, "other": k.other,
		"garbage": k.garbage, "reserved": k.reserved, "runtime": k.runtime,
	} {
		ch <- prometheus.MustNewConstMetric(descMemory, prometheus.GaugeValue, float64(bytes), kind)
	}
}

// kinds is the memory of the process by its holders, in bytes. Together they are the memory that Go
// has from the operating system.
type kinds struct {
	objects  uint64 // of all stores, approximately
	history  uint64 // of objects that only histories hold, approximately
	encoded  uint64 // memos: encoded and compressed objects, indexes
	other    uint64 // everything else that lives: connections, buffers, responses under way, caches of reviews
	garbage  uint64 // allocated since the last collection, or dead before it
	reserved uint64 // memory of the heap that is free and not yet returned
	runtime  uint64 // stacks, and memory of the runtime itself
}

// memoryClasses are classes of the runtime's memory; see package runtime/metrics.
var memoryClasses = []string{
	metricLive,
	"/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/total:bytes",
}

// readKinds divides the memory of the process among its kinds. The stores and the budget count in their own
// way, so that the live bytes may be a little less than their sum.
func readKinds(objects, history, encoded int64) kinds {
	samples := make([]runtimemetrics.Sample, len(memoryClasses))
	for i, name := range memoryClasses {
		samples[i].Name = name
	}
	runtimemetrics.Read(samples)
	v := func(i int) uint64 { return samples[i].Value.Uint64() }
	live, allocated, free, unused, released, total := v(0), v(1), v(2), v(3), v(4), v(5)
	k := kinds{objects: uint64(objects), history: uint64(history), encoded: uint64(encoded), reserved: free + unused}
	live = min(live, allocated)
	k.garbage = allocated - live
	k.other = max(live, k.objects+k.history+k.encoded) - k.objects - k.history - k.encoded
	k.runtime = total - released - allocated - k.reserved
	return k
}
