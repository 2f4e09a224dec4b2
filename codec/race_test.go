//go:build race

package codec

// raceEnabled: the race detector makes sync.Pool forget things on purpose, so nothing can be said of allocations.
const raceEnabled = true
