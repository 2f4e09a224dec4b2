package fence

import "time"

// Facts returns the present facts. With them [Next] decides about a question, and nothing is done.
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
	}
	if now.Sub(f.herdAt) <= herdFor {
		facts.Lately = f.herd
	}
	return facts
}
