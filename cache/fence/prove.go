package fence

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

// What says what a read needs.
type What uint8

const (
	State   What = iota // the newest state, once it has reached a version
	History             // besides every event up to it, so that a watch may send a bookmark
	Exactly             // the state at exactly a version
	Version             // no state, only the current version of the apiserver
)

// Need is what a read needs.
type Need struct {
	What    What
	Version uint64       // at least or exactly; 0 for the apiserver's at some moment after the call
	Current uint64       // such a version, if an earlier answer to the same read has told it
	Get     bool         // the read is of one object, and costs about what a probe costs
	Bytes   int64        // length of the response, about
	Small   bool         // the read costs the apiserver little
	Rest    int64        // after Exactly: length of the response and of those that probably follow
	MayPass func() bool  // asked before the read passes; nil if the read may not pass
	Scope   *cache.Scope // an inventory of the scope would do; nil if only a proof of the whole resource does
	// Patient: the read waits until its context ends, although others have waited in vain or the apiserver cannot be
	// reached. AtAnyPrice: besides, an inventory may be taken that is not cheap.
	Patient, AtAnyPrice bool
}

// Answer is what a read may show.
type Answer struct {
	Version   uint64 // which the read needs, also beside an error if it was known by then
	Proof     Proof
	State     *cache.Snapshot  // at exactly the version
	Inventory *cache.Inventory // of the scope alone; nil if the whole resource is proven
}

// Pass is the error of a read that the apiserver should answer: a proof would cost more. The read is under way until
// Answered or End.
type Pass struct{ *Read }

// Error implements error.
func (Pass) Error() string { return "the apiserver should answer the read" }

// errStalled is the error of a read that does not wait because others have waited in vain.
var errStalled = errors.New("no proof comes")

// Prove waits, until ctx ends at the latest, for the proof that a read needs. It shares the proof with others, and
// does what costs the apiserver least. The error is a [Pass], ErrAhead for a version that the apiserver has not
// reached, ErrGone for one before the history, ErrClosed when the store has ended, or another one if no proof has come.
func (f *Fence) Prove(ctx context.Context, n Need) (a Answer, err error) {
	switch {
	case n.What == Version:
		a.Version, err = f.currentVersion(ctx)
		return a, err
	case n.What == Exactly:
		a.Version, a.Proof = n.Version, ByOwnWatch
		a.State, err = f.stateAt(ctx, n)
		return a, err
	case n.AtAnyPrice:
		return f.recover(ctx, n)
	case n.Version == 0 && n.Current > 0 && f.store.Snapshot().Reaches(n.Current):
		return Answer{Version: n.Current, Proof: f.proofOf(n.Current)}, nil
	}
	read := f.begin(n.Bytes)
	a, err = f.proveFor(ctx, n, read)
	if _, passes := err.(Pass); passes {
		return a, err
	}
	read.End()
	known := n.Patient || a.Version > 0 // else it is the apiserver that is late
	if n.What == State && known && err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f.giveUp()
	}
	return a, err
}

// Foresee returns what Prove would do for a read after a step, and why. It does nothing.
func (f *Fence) Foresee(n Need, after Step) (Action, Question, Facts) {
	q, facts := n.question(after), f.Facts()
	facts.Reads++
	facts.UnderWay += q.Work
	facts.Lately = max(facts.Lately, facts.UnderWay)
	return Next(q, facts), q, facts
}

// question returns the question about the need after a step.
func (n *Need) question(after Step) Question {
	return Question{
		After: after, Get: n.Get, Small: n.Small, MayForward: n.MayPass != nil, Patient: n.Patient,
		Scoped: n.Scope != nil, Work: readWork(n.Bytes),
	}
}

// next decides what is done for a need after a step. A read that may not pass after all is decided about again.
func (f *Fence) next(n *Need, after Step) Action {
	q := n.question(after)
	next := f.decide(q)
	if next.Do == Forward && n.MayPass != nil && !n.MayPass() {
		n.MayPass, q.MayForward = nil, false
		next = f.decide(q)
	}
	return next
}

// proveFor is Prove for a read that is under way.
func (f *Fence) proveFor(ctx context.Context, n Need, read *Read) (a Answer, err error) {
	switch next := f.next(&n, Arrived).Do; {
	case next == Forward:
		return a, read.pass()
	case next == Refuse && n.What == State:
		return a, errStalled
	case next == TakeInventoryOf:
		if i, err := f.inventoryOf(ctx, *n.Scope); err == nil {
			return Answer{Version: i.Version, Proof: ByInventory, Inventory: i}, nil
		}
	}
	if a.Version, err = f.versionFor(ctx, n); err != nil {
		return a, err
	}
	switch {
	case n.What == History:
		return a, f.confirmHistory(ctx, a.Version)
	case n.Patient:
	case f.store.ProvesHistory(a.Version):
		a.Proof = UpToDate
		return a, nil
	case f.waitBriefly(ctx, a.Version, f.next(&n, Known).For):
		a.Proof = f.proofOf(a.Version)
		return a, nil
	case n.MayPass != nil && f.next(&n, Waited).Do == Forward:
		return a, read.pass()
	}
	a.Proof, err = f.confirm(ctx, a.Version)
	return a, err
}

// versionFor returns the version that the state must reach.
func (f *Fence) versionFor(ctx context.Context, n Need) (version uint64, _ error) {
	for version = n.Current; version == 0; {
		current, err := f.currentVersion(ctx)
		switch {
		case err == nil:
			version = current
		case !n.Patient || errors.Is(err, cache.ErrClosed) || ctx.Err() != nil:
			return 0, err
		default:
			pause(ctx, max(time.Until(f.lastRefusal().until), failurePause))
		}
	}
	switch {
	case n.Version > version:
		return 0, cache.ErrAhead
	case n.Version > 0:
		return n.Version, nil
	}
	return version, nil
}
