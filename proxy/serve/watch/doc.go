// Package watch serves watches from the watch cache.
//
//	open.go           a cursor at a version of the store
//	initialevents.go  the objects that exist, as events
//	proof.go          the proof that they are recent, while they are written
//	loop.go           events, bookmarks and the end of the initial events
//	timer.go          times of the next actions
//	recheck.go        whether the caller may still read, and how many of these checks run at a time
//	end.go            why a watch ends
//	writer.go         the bytes of a watch, plain or compressed
//
// Nothing is queued for a client: a watch holds its position in the history of the store.
package watch
