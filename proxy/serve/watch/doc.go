// Package watch serves watches from the watch cache.
//
//	watch.go    a watch from its beginning to its end
//	source.go   what it follows: a cursor at a version of the store, and in proof.go the proof that its initial events
//	            are recent, while they are written
//	stream.go   what it sends: initial events, events, bookmarks and errors
//	ending.go   when it must end and why: timer.go the times of the next actions, recheck.go whether the caller may
//	            still read, and how many of these checks run at a time
//
// Nothing is queued for a client: a watch holds its position in the history of the store.
package watch
