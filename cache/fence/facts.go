package fence

import (
	"maps"
	"time"
)

// Report is what a fence has done and what it knows, for people.
type Report struct {
	Stats
	Facts
	Proven map[Proof]int // reads, by what proved their state
	Last   LastProof
}

// LastProof is how the last read was proven; its Proof is empty before the first.
type LastProof struct {
	Proof Proof
	At    time.Time
	Took  time.Duration // since the read has asked
}

// Report returns what is known now.
func (f *Fence) Report() Report {
	r := Report{Facts: f.Facts()}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Stats, r.Proven, r.Last = f.stats, maps.Clone(f.proven), f.last
	return r
}

// count counts a read that was proven.
func (f *Fence) count(p Proof, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proven[p]++
	f.last = LastProof{p, time.Now(), took}
}

// decide decides what is done for a question now.
func (f *Fence) decide(q Question) Action { return Next(q, f.Facts()) }

// Facts returns what is known now. With them [Next] tells what would be done for a question, and nothing is done.
func (f *Fence) Facts() Facts {
	price, owed, state, event := f.nextInventoryWork(), f.allowance.wait(), f.store.Snapshot(), f.store.LastEvent()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	facts := Facts{
		Objects: state.Len(), Price: price, Owed: owed,
		Failed: now.Before(f.inventory.retryAt), Pending: !state.Reaches(f.inventory.pending),
		Reads: f.reads, UnderWay: f.underWay,
		Rising: f.rising, Found: now.Sub(f.risingAt), Silent: now.Sub(event) >= quietAfter, Missed: event.Before(f.missedAt),
		Doubtful: f.store.Doubtful(), Stalled: f.stalled, NextWatch: f.secondWatch.next.Sub(now),
		Provisional: f.Provisional,
	}
	if now.Sub(f.herdAt) <= herdFor {
		facts.Lately = f.herd
	}
	return facts
}

// inventoryBytes estimates the length of the next inventory.
func (f *Fence) inventoryBytes() int64 {
	f.mu.Lock()
	last := f.inventory
	f.mu.Unlock()
	perObject := int64(bytesPerObject)
	if last.perObject > 0 {
		perObject = last.perObject >> min(time.Since(last.at)/inventoryHalfLife, 32)
	}
	return perObject * int64(max(f.store.Snapshot().Len(), 1))
}

// nextInventoryWork estimates what the next inventory costs the apiserver.
func (f *Fence) nextInventoryWork() time.Duration { return inventoryWork(f.inventoryBytes()) }
