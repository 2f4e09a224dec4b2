// Package serve answers gets, lists and watches from the watch cache.
//
// [Handler] serves a request only if the response is exactly the one that the apiserver would send
// to this caller. Every other request passes to the next handler, which forwards it to the
// apiserver, with the reason in its request.Outcome.
//
// A list goes through five stages, each in a file of its own:
//
//	plan.go      the request becomes a plan: which objects, at which version, in which format
//	snapshot.go  the plan selects a snapshot of the store; fresh.go proves it recent enough
//	segment.go   the segments of the snapshot are encoded and compressed, once for all readers;
//	             aged.go does that for Tables, whose ages change
//	list.go      head, items and tail become the body of the response
//	response.go  the body is written, with deadlines, compressed if it is long
//
// A watch shares the plan. watch.go opens a cursor at a version of the store, watchloop.go delivers
// its events, bookmarks and the end of the initial events, and watchwriter.go writes them:
//
//	plan -> cursor -> loop (event, bookmark, recheck, drain) -> watch writer
//
// These invariants must hold:
//
//   - A stage that fails with a [passReason] has neither written nor set a header, so that the
//     request can still be forwarded.
//   - Nothing is queued for a client. A slow reader of a list holds a snapshot, which is shared, and
//     one piece of the body; a slow watch holds its position in the history of the store.
//   - A memo belongs to exactly the objects that its readers may see whole: a segment, or the part of it
//     that a selector selects. A caller who may see a part of a segment must not learn the length of the
//     rest from a shared compressed block.
package serve
