// Package cache holds the state and the recent history of API resources, so that lists and watches
// can be served without the apiserver. It does the work of the apiserver's own watch cache.
//
// A [Store] is one unbroken session of one resource: it starts from a complete list at one resource
// version, takes events and bookmarks in order from a single writer (package reflector), and ends
// when that order is lost. Readers take a [Snapshot], an immutable [tree.Tree] behind one atomic
// pointer, or open a [Cursor] into the history. [tree.Run.Memo] and [Event.Frame] memoize encodings, so
// that readers of one format share them. The ledger of a store keeps the proven versions;
// package fence proves that a store is recent enough for a consistent read.
//
// Invariants:
//   - objects, segments, snapshots and events must never be changed once published;
//   - a snapshot must hold the effect of every event up to its Version, and of none after it; only when a lease
//     expires in etcd, which deletes several keys at one version, it may lack some of these deletions;
//   - a cursor must deliver every event of its scope after its start, once and in order, or return
//     an error;
//   - history must not be invented: a store that may have missed an event must be closed, never
//     repaired.
//
// Versions are resource versions as numbers. The field RV is the resource version of one object or
// event; a field or parameter named version is the version of a state.
//
// The package handles bytes. It does not know HTTP or the encoding of the bytes: callers bring an
// [Encoder].
package cache
