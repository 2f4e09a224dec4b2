package fence

import "sluice/cache"

// What is the kind of proof that a read needs.
type What uint8

const (
	State   What = iota // the newest state, once it has reached a version
	Exactly             // the state at exactly a version
	Version             // no state, only the current version of the apiserver
)

// Need is the proof that a read needs.
type Need struct {
	What    What
	Version uint64       // at least or exactly; 0 for the apiserver's at some moment after the call
	Current uint64       // such a version, if an earlier answer to the same read has told it
	Get     bool         // the read is of one object, and costs about as much as a probe
	Bytes   int64        // length of the response, about
	Small   bool         // the read costs the apiserver little
	Rest    int64        // after Exactly: length of the response and of those that probably follow
	MayPass bool         // a proof may be refused by a Pass
	Scope   *cache.Scope // an inventory of the scope would do; nil if only a proof of the whole resource does
	// Patient: the read waits until its context ends, although others have waited in vain or the apiserver cannot be
	// reached. AtAnyPrice: besides, an inventory may be taken that is not cheap.
	Patient, AtAnyPrice bool
}

// Answer is the state that a read may show.
type Answer struct {
	Version   uint64 // which the read needs, also beside an error if it was known by then
	Proof     Proof
	State     *cache.Snapshot  // at exactly the version
	Inventory *cache.Inventory // of the scope alone; nil if the whole resource is proven
}

// question returns the question about the need after a step.
func (n *Need) question(after Step) Question {
	return Question{
		After: after, Get: n.Get, Small: n.Small, MayForward: n.MayPass, Patient: n.Patient,
		Scoped: n.Scope != nil, Work: readWork(n.Bytes),
	}
}

// Proof is the way in which a state was confirmed to be recent enough, as metrics call it.
type Proof string

const (
	// UpToDate needs no proof but the current version: the store had reached it.
	UpToDate Proof = "up-to-date"
	// ByOwnWatch is a proof by the store's own watch: an event or a bookmark at or above the version.
	ByOwnWatch Proof = "own-watch"
	// BySecondWatch is a proof by a bookmark of a second, short watch.
	BySecondWatch Proof = "probe-watch"
	// ByInventory is a proof by a list that names exactly the objects of the state.
	ByInventory Proof = "roll-call"
)
