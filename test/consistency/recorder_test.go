package consistency

import (
	"math/rand/v2"
	"sync"

	"sluice/test/consistency/history"
)

// recorder writes the history of one resource. It may be used concurrently.
type recorder struct {
	clock *history.Clock

	mu      sync.Mutex // guards all below
	history history.History
	bell    chan struct{} // closed by the next acknowledgement
	newest  uint64        // highest version that was acknowledged
	told    []uint64      // versions of lists and acknowledgements, newest last
	tallies map[string]*tally
}

func newRecorder(clock *history.Clock) *recorder {
	return &recorder{clock: clock, bell: make(chan struct{}), tallies: map[string]*tally{}}
}

func (r *recorder) tally(kind string) *tally {
	t := r.tallies[kind]
	if t == nil {
		t = &tally{sources: map[string]int{}, faults: map[string]int{}}
		r.tallies[kind] = t
	}
	return t
}

// failed counts a request without an answer.
func (r *recorder) failed(kind string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally(kind).faults[cause(err)]++
}

// mostTold bounds the versions that are kept to be asked for again.
const mostTold = 300

func (r *recorder) tell(version uint64) {
	r.told = append(r.told, version)
	if len(r.told) > 2*mostTold {
		r.told = append(r.told[:0], r.told[mostTold:]...)
	}
}

// wrote records an acknowledged write and wakes those who wait for one.
func (r *recorder) wrote(w history.Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Writes = append(r.history.Writes, w)
	if w.Version > 0 {
		r.newest = max(r.newest, w.Version)
		r.tell(w.Version)
	}
	close(r.bell)
	r.bell = make(chan struct{})
}

// listed records a list of whatever form.
func (r *recorder) listed(kind string, read history.Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Reads = append(r.history.Reads, read)
	for _, p := range read.Pages {
		r.tally(kind).answered(p.Source)
	}
	if n := len(read.Stream); n > 0 {
		r.tally(kind).answered(read.Stream[n-1].Source)
	} else {
		r.tell(read.Pages[0].Version)
	}
}

// got records a read of one object.
func (r *recorder) got(kind string, get history.Get) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Gets = append(r.history.Gets, get)
	r.tally(kind).answered(get.Source)
}

// watched records a line of events.
func (r *recorder) watched(w history.Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// opened counts a watch that was opened.
func (r *recorder) opened(kind, source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally(kind).answered(source)
}

// note records a fault.
func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Notes = append(r.history.Notes, history.Note{At: r.clock.Now(), Text: text})
}

// acknowledged returns a channel that is closed when the next write is
// acknowledged.
func (r *recorder) acknowledged() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bell
}

// newestVersion is the highest that was acknowledged, 0 for none.
func (r *recorder) newestVersion() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// someVersion is one of the last that were told, 0 for none.
func (r *recorder) someVersion(rnd *rand.Rand) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.told[max(0, len(r.told)-mostTold):]
	if len(last) == 0 {
		return 0
	}
	return last[rnd.IntN(len(last))]
}

// answers is how many reads have been answered.
func (r *recorder) answers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.history.Reads) + len(r.history.Gets)
}
