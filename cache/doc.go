// Package cache holds the state and the recent history of API resources, so
// that lists and watches can be answered without asking the apiserver.
//
// A [Store] is one unbroken line of history of one resource: it starts from a
// complete state at one resource version, takes events and bookmarks in order
// from a single writer, and ends when that line breaks. Readers take a
// [Snapshot] (an immutable ordered tree of segments behind one atomic pointer)
// or open a [Cursor] into the history. A [Set] holds the store of each
// resource while it is in sync.
//
// Invariants:
//   - objects, segments and snapshots must never be changed once published;
//   - a snapshot with version V must hold the effect of every event up to V and
//     of none after it;
//   - a cursor must deliver every event of its scope after its start, once and
//     in order, or report that it cannot;
//   - history must not be invented: a store that may have missed an event must
//     be closed, never repaired.
//
// The package knows bytes, not HTTP and not formats. What has to be encoded is
// encoded by an [Encoder] that the caller brings.
package cache
