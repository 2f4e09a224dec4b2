package accounts

import (
	"container/list"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/message"
)

// Grant is what an account has taken. Its methods can be called on nil, and by any goroutine.
type Grant struct {
	pool       *pool
	key        Key
	revocation *revocation // nil if it cannot be taken back

	// Ledger.mu guards what follows.
	amount int64
	holder *holder       // nil while amount is 0
	place  *list.Element // in holder.revocable, if revocation is set
	ended  bool
	owed   int64 // what is leaving of it
}

// revocation is how a grant is taken back.
type revocation struct {
	end  func()
	busy func() bool // nil if it can be taken back at any time
	// shared means that the account may hold at most three times what it leaves free, as if the grant could not be taken back.
	shared bool
}

// holder is what one account holds.
type holder struct {
	amount
	revocable list.List // of *Grant, oldest first
}

// Refused is the error for an account that may not take what it asks for.
type Refused struct{ Resource Resource }

// Error implements error.
func (r *Refused) Error() string { return "too many " + r.Resource.String() }

// Reason is the reason of the refusal in metrics and the access log.
func (r *Refused) Reason() string { return "too-many-" + r.Resource.String() }

// retryAfter is what a refused client is asked to wait, in seconds.
const retryAfter = 1

// Status implements apierrors.APIStatus.
func (r *Refused) Status() metav1.Status {
	return apierrors.NewTooManyRequests(message.TooMany.Say(r.Resource), retryAfter).ErrStatus
}

// Resize makes the grant one of n. If it grows, the error is a *Refused or nil; of a refused grant the old
// amount remains. A grant that was taken back stays empty: what it is made is leaving.
func (g *Grant) Resize(n int64) error {
	if g == nil {
		return nil
	}
	l := g.pool.ledger
	l.mu.Lock()
	revoked, err := g.resize(n, g.pool.fitsNow)
	l.mu.Unlock()
	for _, r := range revoked {
		r.revocation.end()
	}
	return err
}

// resize is Resize under Ledger.mu of what fits, once others' grants are taken back. The caller must call end of these without
// it.
func (g *Grant) resize(n int64, fits func(g *Grant, n int64) bool) (revoked []*Grant, err error) {
	p, more := g.pool, n-g.amount
	if g.ended {
		g.owe(n)
		return nil, nil
	}
	if more == 0 {
		g.owe(0)
		return nil, nil
	}
	if more > 0 && !p.fits(g, more) {
		if revoked = p.revoke(g, more); !p.fits(g, more) {
			p.refused++
			giveBack(revoked)
			return nil, &Refused{p.resource}
		}
	}
	if more > 0 && !fits(g, more) {
		p.refused++
		return revoked, &Refused{p.resource}
	}
	g.owe(0)
	if g.set(n); p.resource == Connections {
		revoked = append(revoked, p.ledger.pools[Silent].shrink()...)
	}
	return revoked, nil
}

// mostOwed is the part of the memory, as a divisor, that is leaving at most if anybody owes more.
const mostOwed = 16

// Owe makes the grant one of 0 of which n are leaving: they are taken although they were refused. It returns false, and
// changes nothing, if it owed less before and too much is leaving for more.
func (g *Grant) Owe(n int64) bool {
	if g == nil {
		return true
	}
	l := g.pool.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	more := (n - g.owed) * rows[g.pool.resource].Bytes
	if more > 0 && l.memory.leaving+more > l.memory.total/mostOwed {
		return false
	}
	g.set(0)
	g.owe(n)
	return true
}

// End makes the grant one that was taken back, though it was not for others.
func (g *Grant) End() {
	if g == nil {
		return
	}
	g.pool.ledger.mu.Lock()
	defer g.pool.ledger.mu.Unlock()
	g.end()
}

// end is End. The caller must hold Ledger.mu.
func (g *Grant) end() {
	if !g.ended {
		g.owe(g.amount + g.owed)
		g.set(0)
		g.ended = true
	}
}

// owe makes n be leaving. The caller must hold Ledger.mu.
func (g *Grant) owe(n int64) {
	if more := (n - g.owed) * rows[g.pool.resource].Bytes; more != 0 && !g.pool.resource.apart() {
		l, group := g.pool.ledger, g.key.Group
		l.memory.leaving += more
		if l.leaving[group] += more; l.leaving[group] == 0 {
			delete(l.leaving, group)
		}
	}
	g.owed = n
}

// Keep makes the grant of Ledger.TakeRevocable one that cannot be taken back, as if it were given back and then taken by Take.
// The error is a *Refused, of one that was taken back already, too.
func (g *Grant) Keep() error {
	if g == nil {
		return nil
	}
	l := g.pool.ledger
	l.mu.Lock()
	if g.ended {
		l.mu.Unlock()
		return &Refused{g.pool.resource}
	}
	if g.revocation == nil {
		l.mu.Unlock()
		return nil
	}
	n := g.amount
	g.set(0)
	g.revocation = nil
	revoked, err := g.resize(n, g.pool.fits) // what is leaving leaves no less than before
	l.mu.Unlock()
	for _, r := range revoked {
		r.revocation.end()
	}
	return err
}

// Release gives everything back. It may be called again.
func (g *Grant) Release() { _ = g.Resize(0) }

// Ended reports whether the grant was taken back.
func (g *Grant) Ended() bool {
	if g == nil {
		return false
	}
	g.pool.ledger.mu.Lock()
	defer g.pool.ledger.mu.Unlock()
	return g.ended
}

// set changes the amount. The caller must hold Ledger.mu.
func (g *Grant) set(n int64) {
	if n == 0 && g.place != nil {
		g.holder.revocable.Remove(g.place)
		g.place = nil
	}
	g.holder = g.pool.add(g.key, n-g.amount, g.revocation == nil)
	g.amount = n
	if n > 0 && g.place == nil && g.revocation != nil {
		g.place = g.holder.revocable.PushBack(g)
	}
}
