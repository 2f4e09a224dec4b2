package resources

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Progress tells how far a store is.
type Progress struct {
	Synced   bool
	Failing  bool          // the last attempt to fill it has failed, or there is none
	LastFill time.Duration // how long the last fill took; 0 if it is the first
	// Bytes is about the length of all objects: in the store before, or by estimate of the part that was
	// read; 0 if neither is known.
	Bytes int64
	// Changed is closed when any of this changes; nil if there is no store to come.
	Changed <-chan struct{}
}

// Progress tells how far the store of a resource is. A resource that was not looked up, or has turned
// out to be absent, has no store to wait for.
func (r *Registry) Progress(gvr schema.GroupVersionResource) Progress {
	e := r.entries.get(gvr)
	if e == nil {
		return Progress{Failing: true}
	}
	p := e.progress.get()
	p.Synced = e.current.Load() != nil
	return p
}

// progress is the Progress of one entry.
type progress struct {
	mu       sync.Mutex
	failing  bool
	began    time.Time // of the present fill
	lastFill time.Duration
	bytes    int64
	ended    bool
	changed  chan struct{} // nil until somebody waits
}

func (p *progress) get() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil && !p.ended {
		p.changed = make(chan struct{})
	}
	return Progress{Failing: p.failing, LastFill: p.lastFill, Bytes: p.bytes, Changed: p.changed}
}

// begin records that a fill begins.
func (p *progress) begin() { p.set(func() { p.began = time.Now() }) }

// measured records about how many bytes a store has, or will have. Nobody waits for that.
func (p *progress) measured(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = bytes
}

// guessed records about how many bytes the present fill reads, unless an earlier read tells.
func (p *progress) guessed(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = cmp.Or(p.bytes, bytes)
}

// synced records that the store is in sync.
func (p *progress) synced() {
	p.set(func() { p.failing, p.lastFill = false, time.Since(p.began) })
}

// failed records that an attempt to fill the store has failed, or that it was given up.
func (p *progress) failed() { p.set(func() { p.failing, p.began = true, time.Now() }) }

// end records that there is no store to come.
func (p *progress) end() { p.set(func() { p.failing, p.ended = true, true }) }

func (p *progress) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
