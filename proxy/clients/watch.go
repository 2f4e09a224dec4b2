package clients

import (
	"strings"
	"sync"
	"time"
)

// OpenWatch is a watch that is open. Its methods can be called on nil.
type OpenWatch struct {
	WatchFacts
	shard  *shard
	opened time.Duration

	mu  sync.Mutex
	lag func() Lag // nil if it is not known; guarded by mu
}

// WatchFacts are the facts of a watch when it opens.
type WatchFacts struct {
	Key
	Address string
	Version string // from which it begins
	Selects string // in words that name no object
	Cached  bool   // else it passes
	Reason  string // why it passes, out of a fixed set
}

// Lag is how far a watch is behind.
type Lag struct {
	Events int           // that the client has not taken
	Oldest time.Duration // how long the first of them has waited
}

// Open counts a watch as open, until Close.
func (t *Table) Open(f WatchFacts) *OpenWatch {
	f.Key = f.bounded()
	for _, s := range []*string{&f.Address, &f.Version, &f.Selects} {
		*s = strings.Clone(cut(*s, longestName))
	}
	w := &OpenWatch{WatchFacts: f, shard: t.shard(f.User), opened: t.now()}
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	w.shard.watches[w] = struct{}{}
	r := w.shard.row(w.Key, w.opened)
	w.Key = r.Key // instead of texts that keep the request in memory
	r.open++
	r.address = w.Address
	if !f.Cached {
		r.passed.add(f.Reason)
	}
	return w
}

// Close ends the watch.
func (w *OpenWatch) Close() {
	if w == nil {
		return
	}
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	delete(w.shard.watches, w)
	if r := w.shard.rows[w.Key]; r != nil && r.since <= w.opened { // else the watch is older than its row, which has made room before
		r.open--
	}
}

// Follow sets the function that tells the lag, which must be safe for concurrent use until Follow is called with nil.
func (w *OpenWatch) Follow(lag func() Lag) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lag = lag
}

// behind returns how far the watch is behind; nil if that is not known.
func (w *OpenWatch) behind() *Lag {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lag == nil {
		return nil
	}
	return new(w.lag())
}
