//go:build race

package codec

// raceEnabled skips allocation tests: under the race detector sync.Pool drops buffers at random.
const raceEnabled = true
