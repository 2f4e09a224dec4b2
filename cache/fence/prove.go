package fence

import (
	"context"
	"errors"
)

// errStalled is the error of a read that does not wait because others have waited in vain.
var errStalled = errors.New("no proof comes")

// Prove waits, until ctx ends at the latest, for the proof that a read needs. It shares the proof with others, and
// takes the action that costs the apiserver least. The error is a [Pass], ErrAhead for a version that the apiserver has not
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
	case n.Version == 0 && n.Current > 0 && f.store.Proves(n.Current):
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

// Foresee returns the first action of Prove for a read that arrives. It does nothing.
func (f *Fence) Foresee(n Need) Do {
	facts, q := f.Facts(), n.question(Arrived)
	facts.Reads++
	facts.UnderWay += q.Work
	return Next(q, facts).Do
}

// proveFor is Prove for a read that is under way.
func (f *Fence) proveFor(ctx context.Context, n Need, read *Read) (a Answer, err error) {
	switch next := f.decide(n.question(Arrived)).Do; {
	case next == Forward:
		return a, read.pass()
	case next == Refuse && n.What == State:
		return a, errStalled
	case next == TakeInventoryOf:
		if i, err := f.list(ctx, *n.Scope, 0); err == nil {
			return Answer{Version: i.Version, Proof: ByInventory, Inventory: i}, nil
		}
	}
	if a.Version, err = f.versionFor(ctx, n); err != nil {
		return a, err
	}
	switch {
	case n.Patient:
	case f.store.ProvesHistory(a.Version):
		a.Proof = UpToDate
		return a, nil
	case f.waitBriefly(ctx, a.Version, f.decide(n.question(Known)).For):
		a.Proof = f.proofOf(a.Version)
		return a, nil
	case n.MayPass && f.decide(n.question(Waited)).Do == Forward:
		return a, read.pass()
	}
	a.Proof, err = f.confirm(ctx, a.Version)
	return a, err
}
