package limits

import (
	"container/list"
	"slices"
	"sync"
)

const (
	// systemPart of the total, as a divisor, is for system callers only. Where nobody is one, it is for holds that can be revoked:
	// requests whose bodies stall leave it to those whose tokens are reviewed.
	systemPart = 16
	// overdraftPart of the total, as a divisor, may be taken while revoked holds are not released yet.
	overdraftPart = 16
)

// Ledger counts the memory that callers hold, in bytes. A hold is fixed, or it can be revoked in favor of others: then
// it ends soon, and counts until its holder releases it.
//
// A group may hold fixed bytes up to three times the free ones, so that there is always something left for others. It may
// fill all of the rest with revocable holds, and loses the newest of these to groups that hold less than half as much.
// System callers lose nothing, and a part of the total is for them alone. A nil Ledger counts nothing.
type Ledger struct {
	mu      sync.Mutex // guards what follows, the groups and the holds
	total   int64
	held    int64 // with revoked holds
	leaving int64 // revoked holds that are not released
	shut    bool
	// unauthenticated is set if no caller is a system caller.
	unauthenticated bool
	groups          map[string]*holders
	heaviest        ranking[*holders] // groups with revocable holds, the heaviest first
	refusals        uint64
	ended           uint64
}

// holders are the callers of a group, with their holds.
type holders struct {
	name      string
	held      int64 // with revoked holds
	fixed     int64
	leaving   int64
	revocable list.List // of *Hold, oldest first; none of system callers
	place     int       // in Ledger.heaviest, from 1; 0 if it is not there
}

// staying returns the bytes that no revoked hold is about to release.
func (g *holders) staying() int64 { return g.held - g.leaving }

// before reports whether the group is heavier.
func (g *holders) before(other *holders) bool { return g.staying() > other.staying() }

func (g *holders) position() *int { return &g.place }

// NewLedger returns a Ledger of so many bytes.
func NewLedger(total int64) *Ledger { return &Ledger{total: total, groups: map[string]*holders{}} }

// update puts a group in its place among the heaviest after it has changed. The caller must hold mu.
func (l *Ledger) update(g *holders) { l.heaviest.update(g, g.revocable.Len() > 0) }

// SetTotal changes the total. Holds stay.
func (l *Ledger) SetTotal(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total = bytes
}

// setShut makes the Ledger refuse all but system callers, or opens it again.
func (l *Ledger) setShut(shut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut = shut
}

// Take takes bytes until the hold is released. The error is a *Refused.
func (l *Ledger) Take(c Caller, bytes int64) (*Hold, error) { return l.take(c, bytes, nil) }

// TakeUntil is Take of bytes that can be revoked by end. It is called at most once, in another goroutine's time, and must not
// block. The hold counts until it is released.
func (l *Ledger) TakeUntil(c Caller, bytes int64, end func()) (*Hold, error) {
	return l.take(c, bytes, end)
}

func (l *Ledger) take(c Caller, bytes int64, end func()) (*Hold, error) {
	if l == nil {
		return nil, nil
	}
	h := &Hold{ledger: l, caller: c, end: end}
	if err := h.Resize(bytes); err != nil {
		return nil, err
	}
	return h, nil
}

// lacks returns how many bytes a hold lacks to grow by more. The caller must hold mu.
func (l *Ledger) lacks(h *Hold, more int64) int64 {
	g := l.groups[h.caller.Group]
	free := l.total - l.held
	if g == nil || g.leaving == 0 { // a group that loses holds has to wait for their end
		free += min(l.leaving, l.total/overdraftPart)
	}
	if h.caller.Reserved {
		return more - free
	}
	if h.end == nil || !l.unauthenticated {
		free -= l.total / systemPart
	}
	if h.end != nil {
		return more - free
	}
	fixed := more
	if g != nil {
		fixed += g.fixed
	}
	return (fixed+share-1)/share + more - free
}

// makeRoom revokes holds of others until a hold may take more bytes. It revokes none if they do not suffice. The caller
// must hold mu, and end the holds without it.
func (l *Ledger) makeRoom(h *Hold, more int64) (revoked []*Hold, ok bool) {
	own := more
	if g := l.groups[h.caller.Group]; g != nil {
		own += g.held
	}
	for l.lacks(h, more) > 0 {
		heaviest := l.heaviest.first()
		if l.leaving >= l.total/overdraftPart || heaviest == nil || !h.caller.Reserved && heaviest.staying() <= 2*own {
			for _, r := range slices.Backward(revoked) {
				r.restore()
			}
			return nil, false
		}
		revoked = append(revoked, heaviest.newest().revoke())
	}
	return revoked, true
}

// Shed revokes the newest holds of the heaviest groups. It stops when the revoked holds that are not released have so many bytes,
// and returns their bytes.
func (l *Ledger) Shed(bytes int64) (shed int64) {
	l.mu.Lock()
	shed = l.leaving
	var revoked []*Hold
	for g := l.heaviest.first(); g != nil && shed < bytes; g = l.heaviest.first() {
		h := g.newest().revoke()
		revoked, shed = append(revoked, h), shed+h.bytes
	}
	l.mu.Unlock()
	for _, h := range revoked {
		h.end()
	}
	return shed
}

// Usage is how a Ledger is used.
type Usage struct {
	Held, Total    int64 // bytes
	Heaviest       string
	Largest        int64 // what the heaviest group holds
	Refused, Ended uint64
}

// Usage returns how the Ledger is used.
func (l *Ledger) Usage() Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := Usage{Held: l.held, Total: l.total, Refused: l.refusals, Ended: l.ended}
	for name, g := range l.groups {
		if g.held > u.Largest || g.held == u.Largest && name < u.Heaviest {
			u.Heaviest, u.Largest = name, g.held
		}
	}
	return u
}
