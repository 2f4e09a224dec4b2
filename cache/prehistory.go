package cache

import (
	"sync"

	"sluice/cache/tree"
)

// Change is an event that is known by its version and key only.
type Change struct {
	RV  uint64
	Key tree.Key
}

// Prehistory knows which scopes had events before the history of a store: enough to tell whether a reader at an
// older version has missed any. A client that updates large objects quickly shortens the history, but only readers
// of the scopes of these objects miss it.
//
// Its older generation is forgotten when the younger one is full.
type Prehistory struct {
	mu         sync.RWMutex // guards the fields below; locked after the store's
	older      generation
	younger    generation
	full       int  // the number of scopes after which a generation is full
	extensible bool // the older generation begins before the store: it has not been forgotten yet
}

// generation has the scopes of the events after a version, up to the next generation or to the history.
type generation struct {
	from  uint64          // the version
	quiet map[mark]uint64 // the version after which a scope had no event; those without events are not in it
	// unindexed is the version after which there was no event whose values of the indexed field are not known.
	unindexed uint64
}

const (
	// scopeBytes is the estimated memory of a scope in a generation.
	scopeBytes = 40
	// maxScopesKnown bounds the scopes of a generation.
	maxScopesKnown = 32 << 10
	// prehistoryShare is the part of a store's memory limit that its prehistory may take, as a divisor.
	prehistoryShare = 8
)

// newPrehistory returns a prehistory without events. It takes a part of limit, which is in bytes; 0 means none.
func newPrehistory(version uint64, limit int64) *Prehistory {
	p := &Prehistory{full: maxScopesKnown, extensible: true}
	if limit > 0 {
		p.full = int(min(maxScopesKnown, limit/prehistoryShare/2/scopeBytes))
	}
	p.older = generation{from: version, quiet: map[mark]uint64{}}
	p.younger = generation{from: version, quiet: map[mark]uint64{}}
	return p
}

// size returns about how many bytes of memory the prehistory takes.
func (p *Prehistory) size() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.older.quiet)+len(p.younger.quiet)) * scopeBytes
}

// add adds an event that leaves the history, of which a reader lacks nothing from version after on. The history was complete after
// version before that.
func (p *Prehistory) add(of marks, after, version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.younger.quiet) >= p.full {
		p.older, p.younger, p.extensible = p.younger, generation{from: version, quiet: map[mark]uint64{}}, false
	}
	for _, m := range of {
		if m != 0 {
			p.younger.quiet[m] = after
		}
	}
}

// CanExtend reports whether Extend can still add changes up to version.
func (p *Prehistory) CanExtend(version uint64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.extensible && version >= p.older.from
}

// Extend records changes as the events after version from, up to until. Watches can then begin at
// versions from from on after which their scope had no event before the history. It does nothing if the store has
// forgotten the events after until, or if the changes would take too much memory; Knows tells.
func (p *Prehistory) Extend(from, until uint64, changes []Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &p.older
	if !p.extensible || until < g.from || len(g.quiet)+2*len(changes) > p.full {
		return
	}
	g.from = min(g.from, from)
	for _, c := range changes {
		g.unindexed = max(g.unindexed, c.RV)
		for _, scope := range []Scope{{}, {Namespace: c.Key.Namespace()}, {Key: c.Key}} {
			g.quiet[scope.mark()] = max(g.quiet[scope.mark()], c.RV)
		}
	}
}

// Knows reports whether all events after version and before the history are known.
func (p *Prehistory) Knows(version uint64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return version >= p.older.from
}

// quietSince reports whether the scope is known to have had no event after version before the history.
func (p *Prehistory) quietSince(scope Scope, version uint64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	m := scope.mark()
	return version >= p.older.from && p.older.quiet[m] <= version && p.younger.quiet[m] <= version &&
		(!scope.Indexed || p.older.unindexed <= version)
}
