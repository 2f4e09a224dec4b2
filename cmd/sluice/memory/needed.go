package memory

import runtimemetrics "runtime/metrics"

// neededMetrics are what Needed adds up.
var neededMetrics = []string{
	metricLive, "/memory/classes/heap/stacks:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/os-stacks:bytes",
	"/memory/classes/metadata/mcache/inuse:bytes", "/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/other:bytes",
	"/memory/classes/profiling/buckets:bytes", "/memory/classes/other:bytes",
}

// Needed returns how many bytes the process takes besides garbage and pages of files: what the last collection has left, stacks,
// and what the runtime takes for itself.
func Needed() (bytes int64) {
	samples := make([]runtimemetrics.Sample, len(neededMetrics))
	for i, name := range neededMetrics {
		samples[i].Name = name
	}
	runtimemetrics.Read(samples)
	for _, s := range samples {
		bytes += int64(s.Value.Uint64())
	}
	return bytes
}
