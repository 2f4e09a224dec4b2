package fence

import (
	"fmt"
	"time"
)

// Step is the last action for a question.
type Step uint8

const (
	Arrived  Step = iota // nothing: a read has arrived
	Asked                // reads wait for the current version, and nothing has been sent for it
	Listed               // an inventory for it has taken too long or has failed
	Known                // the version that a read needs is known, and the store does not prove it
	Waited               // the store's own watch has not reached it
	Confirms             // reads wait for a proof of the version
	Exact                // a read waits for the state at exactly a version that the own watch has not reached
)

// Do is the kind of an action.
type Do uint8

const (
	Ask             Do = iota // wait for the current version
	Wait                      // wait for the store's own watch
	Prove                     // wait for the proof of a version
	Probe                     // ask for the current version by a list of one key
	TakeInventory             // of the whole resource; at exactly a version for a question that is Exact
	TakeInventoryOf           // of the scope of one watch
	OpenSecondWatch           // for its bookmarks
	Forward                   // let the apiserver answer
	Refuse                    // the proof would not come
)

// Action is the next action, for at most a time if it is to wait.
type Action struct {
	Do  Do
	For time.Duration
}

// String returns the action as testdata/decisions.txt shows it.
func (a Action) String() string {
	name := [...]string{
		Ask: "ask", Wait: "wait", Prove: "prove", Probe: "probe", TakeInventory: "inventory", TakeInventoryOf: "of its scope",
		OpenSecondWatch: "second watch", Forward: "forward", Refuse: "refuse",
	}[a.Do]
	if a.Do == Wait {
		return fmt.Sprint(name, " ", a.For)
	}
	return name
}

// Question is the need of a read, or of the worker of a fence on behalf of reads.
type Question struct {
	After      Step
	Get        bool          // the read is of one object, and costs about as much as a probe
	Small      bool          // the read costs the apiserver little
	MayForward bool          // the read may be forwarded
	Patient    bool          // the read waits although others have waited in vain
	Scoped     bool          // an inventory of its own scope would prove the read
	Work       time.Duration // cost of the read, and after Exact of its list from this page on, if it is forwarded
	Exactly    bool          // the read needs the state at exactly its version
	Running    bool          // the worker: an inventory runs
	RunningFor time.Duration // for how long
}

// Facts are the knowledge at the time of a question. Each may be out of date when the action begins.
type Facts struct {
	Objects   int           // of the resource
	Price     time.Duration // cost of an inventory at the apiserver, by the last one
	Failed    bool          // an inventory has failed a moment ago
	Pending   bool          // the store still differs from the last inventory
	Reads     int           // reads that are under way
	UnderWay  time.Duration // their cost, if the apiserver answered them
	Owed      time.Duration // until the allowance permits a request
	Rising    bool          // the last answer had a higher version than the newest state
	Found     time.Duration // for how long that has been known
	Silent    bool          // the resource has had no event lately
	Missed    bool          // it has had none since a read has waited for one in vain
	Doubtful  bool          // only an inventory of the writer proves a state
	Stalled   bool          // a read has waited in vain as long as it could, and no proof has succeeded since
	NextWatch time.Duration // until a second watch may be opened
}

const (
	// ownWatchWait is how long a read waits for an event or bookmark on the watch of the store before
	// it costs the apiserver more. On a busy resource that is enough.
	ownWatchWait = 15 * time.Millisecond
	// silentWait is the same for a lone read of a resource without events lately: as long as an event needs
	// that is on its way.
	silentWait = 3 * time.Millisecond
	// risingFor is how long reads are forwarded because resource versions rise: then it is tried again.
	risingFor = 10 * time.Second
)

// Next decides the next action for a question. Nothing else chooses between waiting, asking the apiserver,
// forwarding and refusing; it is asked again after each action. Only for a [Need] at any price the apiserver
// is asked without it. testdata/decisions.txt shows the decisions of Next, and testdata/simulations.txt their results
// for reads. To hold small reads until those that wait cost as much as a proof, and else to forward them after 15 ms, has
// been simulated too: lone reads wait in vain, and herds of a busy resource are forwarded.
//
//	Arrived -- Ask ----> Asked -- TakeInventory, Probe ----> Known -- Wait ----> Waited -- Prove ----> Confirms
//	   |                                                                                   |            TakeInventory,
//	Forward, Refuse, TakeInventoryOf                                                    Forward         OpenSecondWatch
func Next(q Question, f Facts) Action {
	switch q.After {
	case Arrived:
		return arrived(q, f)
	case Asked:
		return asked(q, f)
	case Known:
		return known(q, f)
	case Waited:
		return waited(q, f)
	case Confirms:
		return confirms(q, f)
	case Exact:
		return exact(q, f)
	}
	return Action{Do: Probe} // Listed
}

// A read that has arrived waits for a proof, which it shares, or is forwarded.
func arrived(q Question, f Facts) Action {
	shares := f.shares()
	switch {
	case q.Scoped && q.Small && !shares:
		return Action{Do: TakeInventoryOf}
	case q.Get && (f.Reads == 1 || !shares), q.MayForward && q.Small && q.Work <= quickWork && !shares:
		return Action{Do: Forward}
	case f.Stalled && !q.Patient:
		return Action{Do: Refuse}
	}
	return Action{Do: Ask}
}

// An inventory also tells the current version, and proves the state.
func asked(q Question, f Facts) Action {
	if q.Running || !f.replacesProbe() {
		return Action{Do: Probe}
	}
	return Action{Do: TakeInventory}
}

// The own watch is waited for as long as an event may take that is on its way.
func known(q Question, f Facts) Action {
	switch {
	case q.Exactly && f.quiet():
		return Action{Wait, 0}
	case !q.Exactly && f.Reads == 1 && f.Rising && f.Silent:
		return Action{Wait, silentWait}
	}
	return Action{Wait, ownWatchWait}
}

// A read that the own watch has not proven is forwarded where an inventory is impossible, or costs more.
func waited(q Question, f Facts) Action {
	forward := f.Reads == 1 && !f.mayTakeInventory()
	if q.Small {
		forward = !f.mayTakeInventory() || f.Pending || !f.pays(f.Price)
	}
	if q.MayForward && q.Work <= quickWork && forward {
		return Action{Do: Forward}
	}
	return Action{Do: Prove}
}

// The worker takes an inventory and, where that is not possible or of no avail, opens one second watch after
// the other.
func confirms(q Question, f Facts) Action {
	wait := time.Hour
	switch {
	case f.Doubtful: // the inventory of the writer is on its way
		return Action{Wait, wait}
	case !q.Running && f.canTakeInventory() && !f.Pending:
		if f.mayTakeInventory() {
			return Action{Do: TakeInventory}
		}
		wait = f.Owed
	}
	if q.Running && q.RunningFor < quickInventory {
		return Action{Wait, min(wait, quickInventory-q.RunningFor)}
	}
	if f.NextWatch <= 0 {
		return Action{Do: OpenSecondWatch}
	}
	return Action{Wait, min(wait, f.NextWatch)}
}

// An inventory of an exact version serves the pages that follow, if its client goes on to read them: so the allowance
// must permit it.
func exact(q Question, f Facts) Action {
	if f.Price > quickWork || !pays(f.Price, q.Work) || f.Owed > 0 {
		return Action{Do: Forward}
	}
	return Action{Do: TakeInventory}
}

// shares reports whether a read should wait for the next proof rather than be forwarded: the answer to Ask and
// the action that probably follows cost the apiserver no more than forwarding all reads that are under way. A lone
// read should be forwarded unless an inventory is taken at once, which proves the state.
func (f Facts) shares() bool {
	switch {
	case f.replacesProbe() && f.pays(f.Price):
		return true
	case f.Reads == 1:
		return false
	case f.quiet() && f.Found < risingFor:
		return f.canTakeInventory() && f.pays(requestWork+f.Price)
	}
	return f.quiet() || !f.replacesProbe() // a probe costs no more than one of several reads
}

// quiet reports whether neither a probe nor the store's watch is likely to prove the newest state:
// resource versions rise, and no event has arrived lately, or since a read has waited for one in vain.
func (f Facts) quiet() bool { return f.Rising && (f.Silent || f.Missed) }

// canTakeInventory reports whether inventories succeed and are quick enough.
func (f Facts) canTakeInventory() bool { return f.Price <= quickWork && !f.Failed }

// mayTakeInventory reports whether an inventory may be taken now: the allowance permits it, or it costs the
// apiserver less than the reads that are under way would.
func (f Facts) mayTakeInventory() bool {
	return f.canTakeInventory() && (f.pays(f.Price) || f.Owed <= 0)
}

// replacesProbe reports whether an inventory is taken instead of a probe.
func (f Facts) replacesProbe() bool {
	most := smallResource
	if f.quiet() {
		most = quietResource
	}
	return f.Objects <= most && f.mayTakeInventory()
}

// pays reports whether a proof costs the apiserver clearly less than forwarding the reads that are under way.
func (f Facts) pays(proof time.Duration) bool { return pays(proof, f.UnderWay) }

// pays reports whether a proof costs clearly less than reads: one long response delays readers more than several
// short ones. A proof that costs about one request always pays.
func pays(proof, reads time.Duration) bool { return 2*(proof-requestWork) <= reads }
