package memory

import runtimemetrics "runtime/metrics"

// metricCollections is how many collections have ended.
const metricCollections = "/gc/cycles/total:gc-cycles"

// Needed returns the bytes of the process without garbage, free memory, and pages of files, and the number of the collection
// that has found the live bytes.
func Needed() (bytes int64, collection uint64) {
	last := []runtimemetrics.Sample{{Name: metricCollections}}
	runtimemetrics.Read(last)
	k := readKinds(0, 0, 0)
	return int64(k.other + k.unused + k.runtime), last[0].Value.Uint64()
}
