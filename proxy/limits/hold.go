package limits

import (
	"container/list"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/message"
)

// Hold is memory of a Ledger in the hands of a caller. Its methods can be called on nil, and by any goroutine.
type Hold struct {
	ledger *Ledger
	caller Caller
	end    func() // nil if it is fixed

	// Ledger.mu guards the fields below.
	bytes   int64
	place   *list.Element // in group.revocable; nil if it is not there
	revoked bool
}

// Refused is the error for a caller that may not take more.
type Refused struct{}

// TooMuch is the reason of such a refusal in metrics and the access log, and of revoked holds.
const TooMuch = "too-much-memory"

// retryAfter is the wait that a refused client is asked for, in seconds.
const retryAfter = 1

// Error implements error.
func (*Refused) Error() string { return message.TooMuch.Say() }

// Status implements apierrors.APIStatus.
func (r *Refused) Status() metav1.Status {
	return apierrors.NewTooManyRequests(r.Error(), retryAfter).ErrStatus
}

// Resize makes the hold one of so many bytes. If it grows, the error is a *Refused or nil; a refused hold keeps its bytes.
func (h *Hold) Resize(bytes int64) error {
	if h == nil {
		return nil
	}
	h.ledger.mu.Lock()
	revoked, err := h.resize(bytes)
	h.ledger.mu.Unlock()
	for _, r := range revoked {
		r.end()
	}
	return err
}

// resize is Resize. The caller must hold Ledger.mu, and end the revoked holds without it.
func (h *Hold) resize(bytes int64) (revoked []*Hold, err error) {
	l, more, ok := h.ledger, bytes-h.bytes, true
	if more > 0 {
		if ok = !h.revoked && (!l.shut || h.caller.Reserved); ok {
			revoked, ok = l.makeRoom(h, more)
		}
		if !ok {
			l.refusals++
			return nil, &Refused{}
		}
	}
	h.set(bytes)
	return revoked, nil
}

// Reserve makes the hold one of at least so many bytes, as Resize does.
func (h *Hold) Reserve(bytes int64) error {
	if bytes <= h.size() {
		return nil
	}
	return h.Resize(bytes)
}

// Shrink gives back all but so many bytes.
func (h *Hold) Shrink(bytes int64) {
	if bytes < h.size() {
		_ = h.Resize(bytes)
	}
}

func (h *Hold) size() int64 {
	if h == nil {
		return 0
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	return h.bytes
}

// Release gives everything back. It may be called again.
func (h *Hold) Release() { _ = h.Resize(0) }

// Revoked reports whether the hold was revoked.
func (h *Hold) Revoked() bool {
	if h == nil {
		return false
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	return h.revoked
}

// set changes the bytes. The caller must hold Ledger.mu.
func (h *Hold) set(bytes int64) {
	l := h.ledger
	g := l.groups[h.caller.Group]
	if g == nil {
		g = &holders{name: h.caller.Group}
		l.groups[g.name] = g
	}
	more := bytes - h.bytes
	h.bytes = bytes
	l.held += more
	g.held += more
	switch {
	case h.revoked:
		l.leaving += more
		g.leaving += more
	case h.end == nil || h.caller.Reserved:
		g.fixed += more
	case bytes == 0 && h.place != nil:
		g.revocable.Remove(h.place)
		h.place = nil
	case bytes > 0 && h.place == nil:
		h.place = g.revocable.PushBack(h)
	}
	l.update(g)
	if g.held == 0 && g.revocable.Len() == 0 {
		delete(l.groups, g.name)
	}
}

// newest returns the hold to revoke next.
func (g *holders) newest() *Hold { return g.revocable.Back().Value.(*Hold) }

// revoke marks a hold as revoked. The caller must hold Ledger.mu.
func (h *Hold) revoke() *Hold {
	l, g := h.ledger, h.ledger.groups[h.caller.Group]
	g.revocable.Remove(h.place)
	h.place, h.revoked = nil, true
	g.leaving += h.bytes
	l.leaving += h.bytes
	l.ended++
	l.update(g)
	return h
}

// restore takes revoke back. The caller must hold Ledger.mu.
func (h *Hold) restore() {
	l, g := h.ledger, h.ledger.groups[h.caller.Group]
	h.place, h.revoked = g.revocable.PushBack(h), false
	g.leaving -= h.bytes
	l.leaving -= h.bytes
	l.ended--
	l.update(g)
}

// Account is a caller's account in a Ledger. The zero Account has no limit.
type Account struct {
	Ledger *Ledger
	Caller
}

// Take is Ledger.Take for the caller.
func (a Account) Take(bytes int64) (*Hold, error) { return a.Ledger.Take(a.Caller, bytes) }

// TakeUntil is Ledger.TakeUntil for the caller.
func (a Account) TakeUntil(bytes int64, end func()) (*Hold, error) {
	return a.Ledger.TakeUntil(a.Caller, bytes, end)
}
