package consistency

// The loads, by index.
const (
	busyBuiltin = iota // ConfigMaps: few, always changing
	busyCustom         // beats: few, often changing
	largeQuiet         // stills: a thousand, rarely changing
	smallQuiet         // ServiceAccounts: few, rarely changing
	uncached           // reports: few, rarely changing, without watch cache at the apiserver
)

// minCachedShare is the least share of answers for ConfigMaps, which always change, that Sluice must serve from its
// cache, by kind of read, over a whole run with all faults.
var minCachedShare = map[string]float64{"paged, at a version": 0.25, "any": 0.25, "stream": 0.25, "get, several": 0.02}

// minReadsPerSecond is the least number of answered reads of each resource per second of a run.
const minReadsPerSecond = 1
