// Package list answers lists and gets from the watch cache.
//
//	list.go      the stages of a list; get.go those of a get
//	contents.go  the snapshot that is shown, and its objects
//	response.go  the body is written, with deadlines, compressed if it is long
//
// Nothing is queued for a client: a slow reader holds a snapshot, which is shared, and one piece of the body.
package list
