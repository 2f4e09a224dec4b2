// Package body writes the bodies of lists, gets and watches.
//
// A [Body] gathers text and writes it by pieces, plain or compressed (body.go). [Items] are the objects of a list, or
// the initial events of a watch: memoized text and blocks where there are any (items.go).
//
// Nothing is queued for a client: a slow reader of a list holds a snapshot, which is shared, and one piece of the body.
package body
