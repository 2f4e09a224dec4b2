// Package serve answers gets, lists and watches from the watch cache.
//
// [Handler] serves a request only if the response is exactly the one that the apiserver would send
// to this caller. Every other request passes to the next handler, which forwards it to the
// apiserver, with the reason in its request.Outcome.
//
// A read goes down through packages of its own:
//
//	LIST   plan -> fresh (the proof) -> snapshot -> list -> body -> encode (memoized segments)
//	WATCH  plan -> fresh -> cursor -> watch (event, bookmark, recheck, drain) -> body
//
//	plan     the request becomes a plan: which objects, at which version, in which format
//	fresh    a state of the store is proven recent enough
//	encode   objects become bytes, once for all readers
//	body     text and blocks are written, with deadlines, compressed if they are long
//	list     lists and gets: head, items and tail
//	watch    watches: a cursor, and the loop that delivers its events
//	outcome  the outcomes of a read
//
// This package decides about each read (handler.go): one that cannot be served passes (pass.go), within a budget
// (passing.go), and a watch that passes comes back once the cache may serve it (passedwatch.go).
//
// These invariants must hold:
//
//   - A stage that fails with an [outcome.Pass] has neither written nor set a header, so that the
//     request can still be forwarded.
//   - Nothing is queued for a client. A slow reader of a list holds a snapshot, which is shared, and
//     one piece of the body; a slow watch holds its position in the history of the store.
package serve
