// Package fresh finds out whether a state of a store is recent enough for a read.
//
// An [Attempt] waits for the proof that the read needs, or returns why the read passes (fresh.go). A [Head] begins
// the response: it says why the state is recent enough, and warns of one that may be old (headers.go).
package fresh
