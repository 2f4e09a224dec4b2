package memory

import runtimemetrics "runtime/metrics"

// metricCollections is how many collections have ended.
const metricCollections = "/gc/cycles/total:gc-cycles"

// Needed returns how many bytes the process takes besides garbage, what it can return, and pages of files, and the number of the
// collection that has found out what lives.
func Needed() (bytes int64, collection uint64) {
	last := []runtimemetrics.Sample{{Name: metricCollections}}
	runtimemetrics.Read(last)
	k := readKinds(0, 0, 0)
	return int64(k.other + k.unused + k.runtime), last[0].Value.Uint64()
}
