package config

// gone are the fields that earlier releases had, with their replacements.
var gone = map[string]string{
	"cache.passedBytes":              "a list that passes instead of the cache takes one of limits.seats for each 256 KiB: set that",
	"features.dropManagedFields":     "drop=metadata.managedFields in Accept is always honored in cached answers: remove it",
	"limits.unauthenticatedUpstream": "64 requests of unauthenticated callers pass at a time: remove it",
	"limits.longReads":               "as many long responses are worked on at a time as there are processors: remove it",
	"limits.connections":             "connections count by their memory, which bounds the descriptors, too: remove it, or set limits.memory",
	"limits.upstreamStreams":         "what passes and lasts counts by its memory, which bounds the descriptors, too: remove it, or set limits.memory",
	"limits.queueWait":               "a request waits 10 s for its place: remove it",
	"proxy.tunnel":                   "the proxy leads to the API only: exempt other destinations by NO_PROXY",
	"proxy.usersFile":                "the proxy leads to the API only, where clients authenticate: remove it",
}
