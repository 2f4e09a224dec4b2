// Package serve answers gets, lists and watches from the watch cache.
//
// [Handler] serves a request only if the response is exactly the one that the apiserver would send
// to this caller. Every other request passes to the next handler, which forwards it to the
// apiserver, with the reason in its request.Outcome.
//
// A list goes through five stages, each in a file or a package of its own:
//
//	plan.go      the request becomes a plan: which objects, at which version, in which format
//	snapshot.go  the plan selects a snapshot of the store; fresh.go proves it recent enough
//	encode       the segments of the snapshot are encoded and compressed, once for all readers
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
//   - A stage that fails with an [outcome.Pass] has neither written nor set a header, so that the
//     request can still be forwarded.
//   - Nothing is queued for a client. A slow reader of a list holds a snapshot, which is shared, and
//     one piece of the body; a slow watch holds its position in the history of the store.
package serve
