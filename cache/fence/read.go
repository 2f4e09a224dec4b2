package fence

import "time"

// Read is a read of the most recent state that is under way: it waits for a proof, or is being
// forwarded. Reads that are under way at the same time share one proof where that costs the apiserver
// no more than forwarding them.
type Read struct {
	fence     *Fence
	bytes     int64         // length of the response
	work      time.Duration // its cost at the apiserver if it is forwarded
	forwarded time.Time     // when forwarding began; zero if it is not forwarded
	uncharged bool          // the allowance was spent by then
	left      bool          // it is not under way any more; Fence.mu guards it
}

// Pass is the error of a read that the apiserver should answer: a proof would cost more. The read is under way until
// Answered or End.
type Pass struct{ *Read }

// Error implements error.
func (Pass) Error() string { return "the apiserver should answer the read" }

// Forward counts a read whose response has about this length and that is forwarded without a question. It is under
// way until Answered or End.
func (f *Fence) Forward(bytes int64) *Read {
	r := f.begin(bytes)
	r.forward()
	return r
}

// begin counts a read whose response has about this length. End must be called when it has a proof, has
// none in time, or has been forwarded.
func (f *Fence) begin(bytes int64) *Read {
	r := &Read{fence: f, bytes: bytes, work: readWork(bytes)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	f.underWay += r.work
	return r
}

// forward says that the read is being forwarded until Answered or End. It is charged to the
// allowance unless that is spent: it costs the apiserver then as much as without the store.
func (r *Read) forward() { r.forwarded, r.uncharged = time.Now(), r.fence.allowance.empty() }

// pass forwards the read.
func (r *Read) pass() error {
	r.forward()
	return Pass{r}
}

// Answered says that the response to a forwarded read has begun. It is no longer under way: its client
// may take long to read the rest, and proofs would be made for it meanwhile. Nil is no read.
func (r *Read) Answered() {
	if r == nil {
		return
	}
	r.fence.mu.Lock()
	defer r.fence.mu.Unlock()
	r.leave()
}

// leave ends that the read is under way. The caller must hold mu of the fence.
func (r *Read) leave() {
	if r.left {
		return
	}
	r.left = true
	r.fence.reads--
	r.fence.underWay -= r.work
}

// End says that the read is no longer under way, and charges its cost if it was forwarded. Nil is no read.
func (r *Read) End() {
	if r == nil {
		return
	}
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
