package consistency

import (
	"math/rand/v2"
	"sync"

	"sluice/test/consistency/history"
)

// recorder records the history of one resource. It may be used concurrently.
type recorder struct {
	clock *history.Clock

	mu        sync.Mutex // guards the fields below
	history   history.History
	nextWrite chan struct{} // closed when the next write is acknowledged
	newest    uint64        // highest acknowledged version
	observed  []uint64      // versions of lists and acknowledgements, newest last
	tallies   map[string]tally
}

func newRecorder(clock *history.Clock) *recorder {
	return &recorder{clock: clock, nextWrite: make(chan struct{}), tallies: map[string]tally{}}
}

// count counts a result of a kind of read.
func (r *recorder) count(kind, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tallies[kind] == nil {
		r.tallies[kind] = tally{}
	}
	r.tallies[kind][result]++
}

// failed counts a failed request.
func (r *recorder) failed(kind string, err error) { r.count(kind, "failed: "+cause(err)) }

// wrote records an acknowledged write and wakes the readers that wait for it.
func (r *recorder) wrote(w history.Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Writes = append(r.history.Writes, w)
	if w.Version > 0 {
		r.newest = max(r.newest, w.Version)
		r.observed = append(r.observed, w.Version)
	}
	close(r.nextWrite)
	r.nextWrite = make(chan struct{})
}

// listed records a list in any form.
func (r *recorder) listed(kind string, read history.Read) {
	for _, p := range read.Pages {
		r.count(kind, p.Source)
	}
	if n := len(read.Stream); n > 0 {
		r.count(kind, read.Stream[n-1].Source)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Reads = append(r.history.Reads, read)
	if len(read.Pages) > 0 {
		r.observed = append(r.observed, read.Pages[0].Version)
	}
}

// got records a get.
func (r *recorder) got(kind string, get history.Get) {
	r.count(kind, get.Source)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Gets = append(r.history.Gets, get)
}

// watched records a watch.
func (r *recorder) watched(w history.Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// note records a fault.
func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Notes = append(r.history.Notes, history.Note{At: r.clock.Now(), Text: text})
}

// acknowledged returns a channel that is closed when the next write is acknowledged.
func (r *recorder) acknowledged() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nextWrite
}

// newestVersion returns the highest acknowledged version, 0 if there is none.
func (r *recorder) newestVersion() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// maxObserved is how many of the observed versions reads ask for.
const maxObserved = 300

// someVersion returns one of the last observed versions, 0 if there is none.
func (r *recorder) someVersion(rnd *rand.Rand) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.observed[max(0, len(r.observed)-maxObserved):]
	if len(last) == 0 {
		return 0
	}
	return last[rnd.IntN(len(last))]
}

// answers returns the number of answered reads.
func (r *recorder) answers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.history.Reads) + len(r.history.Gets)
}

// cached returns the number of reads that Sluice has answered from its cache.
func (r *recorder) cached() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tallies {
		_, cached := t.ofSluice()
		n += cached
	}
	return n
}
