package fence

import (
	"context"
	"time"
)

// Read is a read of the most recent state that is under way: it waits for a proof, or is being
// forwarded. Reads that are under way at the same time share one proof where that costs the apiserver
// no more than forwarding them.
type Read struct {
	fence     *Fence
	bytes     int64         // length of the response
	work      time.Duration // what it costs the apiserver if it is forwarded
	forwarded time.Time     // when forwarding began; zero if it is not forwarded
	uncharged bool          // the allowance was spent by then
	left      bool          // it is not under way any more; Fence.mu guards it
}

// Begin counts a read whose response has about this length. End must be called when it has a proof, has
// none in time, or has been forwarded.
func (f *Fence) Begin(bytes int64) *Read {
	r := &Read{fence: f, bytes: bytes, work: readWork(bytes)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	f.underWay += r.work
	if now := time.Now(); f.underWay >= f.herd || now.Sub(f.herdAt) > herdFor {
		f.herd, f.herdAt = f.underWay, now
	}
	return r
}

const (
	// herdFor is how long readers that have shared a proof are expected to come back: they do so one after
	// the other, and the first of them should wait for the others.
	herdFor = 100 * time.Millisecond
	// gatherFor is how long an inventory waits for them at most.
	gatherFor = 15 * time.Millisecond
)

// Alone reports whether no other read is under way.
func (r *Read) Alone() bool {
	r.fence.mu.Lock()
	defer r.fence.mu.Unlock()
	return r.fence.reads == 1
}

// Shares reports whether the read should wait for the next proof rather than be forwarded: CurrentVersion
// and what probably has to follow cost the apiserver no more than forwarding all reads that are under
// way. A lone read should be forwarded unless an inventory is taken at once, which proves the state.
func (r *Read) Shares() bool {
	f := r.fence
	switch {
	case f.takesInventory() && f.pays(f.nextInventoryWork()):
		return true
	case r.Alone():
		return false
	case f.surelyQuiet():
		return f.canTakeInventory() && f.pays(requestWork+f.nextInventoryWork())
	}
	return f.Quiet() || !f.takesInventory() // a probe costs no more than one of several reads
}

// risingFor is how long reads are forwarded because resource versions rise: then it is tried again.
const risingFor = 10 * time.Second

// surelyQuiet is Quiet if that has been found out lately.
func (f *Fence) surelyQuiet() bool {
	if !f.Quiet() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.risingAt) < risingFor
}

// SharesInventory reports whether the read, which a probe has not proven, should wait for an inventory.
func (r *Read) SharesInventory() bool {
	f := r.fence
	return f.MayTakeInventory() && !f.inventoryPending() && f.pays(f.nextInventoryWork())
}

// Forwardable reports whether forwarding the read probably takes less time than a second watch.
func (r *Read) Forwardable() bool { return r.work <= quickWork }

// Forward says that the read is being forwarded until Answered or End. It is charged to the
// allowance unless that is spent: it costs the apiserver then what it would cost without the store.
func (r *Read) Forward() { r.forwarded, r.uncharged = time.Now(), r.fence.allowance.empty() }

// Bytes returns the length of the response.
func (r *Read) Bytes() int64 { return r.bytes }

// Answered says that the response to a forwarded read has begun. It is no longer under way: its client
// may take long to read the rest, and proofs would be made for it meanwhile.
func (r *Read) Answered() {
	r.fence.mu.Lock()
	defer r.fence.mu.Unlock()
	r.leave()
}

// leave takes the read off those that are under way. The caller must hold mu of the fence.
func (r *Read) leave() {
	if r.left {
		return
	}
	r.left = true
	r.fence.reads--
	r.fence.underWay -= r.work
}

// End says that the read is no longer under way, and charges what it has cost if it was forwarded.
func (r *Read) End() {
	f := r.fence
	f.mu.Lock()
	defer f.mu.Unlock()
	r.leave()
	if r.forwarded.IsZero() {
		return
	}
	f.stats.Forwarded++
	f.charge(min(time.Since(r.forwarded), r.work), r.bytes, r.uncharged)
}

// pays reports whether a proof costs the apiserver clearly less than forwarding the reads that are under
// way, or were a moment ago: one long response delays readers more than several short ones. A proof
// that costs about one request always pays.
func (f *Fence) pays(proof time.Duration) bool {
	now, lately := f.demand()
	return paid(proof, max(now, lately))
}

func paid(proof, reads time.Duration) bool { return 2*(proof-requestWork) <= reads }

// demand returns what the reads that are under way would cost the apiserver, and the most of that lately.
func (f *Fence) demand() (now, lately time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.herdAt) <= herdFor {
		lately = f.herd
	}
	return f.underWay, lately
}

// gather waits for the readers that are expected to come back, until they pay for a proof.
func (f *Fence) gather(ctx context.Context, proof time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, gatherFor)
	defer cancel()
	for ctx.Err() == nil {
		now, lately := f.demand()
		if paid(proof, now) || !paid(proof, lately) {
			return
		}
		pause(ctx, time.Millisecond)
	}
}

// charge charges what a request has cost, or counts it as uncharged. The caller must hold mu.
func (f *Fence) charge(work time.Duration, bytes int64, uncharged bool) {
	if uncharged {
		f.stats.Uncharged += work.Seconds()
		return
	}
	f.allowance.charge(work, bytes)
	f.stats.Seconds += work.Seconds()
}
