package accounts

import "slices"

// maxRevoked bounds how many grants end for one that begins: enough watches for a body of 3 MiB, of which a
// caller may hold only three times what is free.
const maxRevoked = 1024

// revoke takes back from accounts that hold more than g's until g may take n more, or nothing more can be
// taken back. The caller must hold mu, and call end of the returned grants without it. With n above zero, what
// g's own account holds is never more than what it would then hold.
func (p *pool) revoke(g *Grant, n int64) (revoked []*Grant) {
	for len(revoked) < maxRevoked && !p.fits(g, n) {
		var victim *Grant
		if !p.resource.apart() && p.room() < p.limit()-p.used { // it is memory that is scarce
			victim = p.ledger.heaviest(g.key, n*rows[p.resource].Bytes)
		}
		if victim == nil {
			victim = p.victim(g.key, n)
		}
		if victim == nil || victim == g {
			break
		}
		victim.takeBack()
		revoked = append(revoked, victim)
	}
	return revoked
}

// takeBack takes a grant back, which is leaving from then on. The caller must hold mu, and call its end without it.
func (g *Grant) takeBack() {
	g.end()
	g.pool.ended++
}

// overruled is how many times as much a group holds as one that wants more if it loses what is busy, too.
const overruled = 4

// MakeRoom takes one grant back in favor of an account that wants another, and reports whether there was one: even of
// what is busy, from a group that holds several times as much as the account's own.
func (a Account) MakeRoom(r Resource) bool {
	a.ledger.mu.Lock()
	p := &a.ledger.pools[r]
	victim := p.victim(a.Key, 1)
	if victim == nil {
		own := int64(1)
		if g := p.groups[a.Group]; g != nil {
			own += g.used
		}
		victim = p.ranked.heaviest(overruled*own, func(g *group) *Grant { return g.ranked.heaviest(0, (*holder).first) })
	}
	if victim != nil {
		victim.takeBack()
	}
	a.ledger.mu.Unlock()
	if victim == nil {
		return false
	}
	victim.revocation.end()
	return true
}

// Shrink takes back what is held beyond a total that has become less, as far as it can be taken back.
func (l *Ledger) Shrink(r Resource) {
	l.mu.Lock()
	revoked := l.pools[r].shrink()
	l.mu.Unlock()
	for _, g := range revoked {
		g.revocation.end()
	}
}

// shrink takes back what is held beyond the limit. The caller must hold mu, and call end of the returned grants without it.
func (p *pool) shrink() []*Grant { return p.revoke(&Grant{pool: p}, 0) }

// giveBack gives grants back that were taken for one that is refused nevertheless.
func giveBack(revoked []*Grant) {
	for _, g := range slices.Backward(revoked) {
		g.ended = false
		g.pool.ended--
		n := g.owed
		g.owe(0)
		g.set(n)
		if rows[g.pool.resource].OldestFirst {
			g.holder.revocable.MoveToFront(g.place)
		}
	}
}

// heaviest returns the next grant to take back, of whatever resource, in favor of an account that wants so
// many bytes: of the group that takes the most memory, among those that take more than its own would.
func (l *Ledger) heaviest(k Key, bytes int64) *Grant {
	if own := l.shares[k.Group]; own != nil {
		bytes += own.used
	}
	return l.ranked.heaviest(bytes, func(s *share) *Grant {
		for r := numResources - 1; r >= 0; r-- { // watches before connections
			if g := l.pools[r].groups[s.name]; g != nil && !r.apart() {
				if found := g.heaviest(r, 0); found != nil {
					return found
				}
			}
		}
		return nil
	})
}

// victim returns the next grant to take back in favor of an account that wants n more: of the heaviest
// account in the heaviest group, among those that hold more than it would then hold itself. Within its
// own group an account competes with the other accounts, and where the new replaces the old, with its own past.
func (p *pool) victim(k Key, n int64) *Grant {
	var own *group
	least := n
	if own = p.groups[k.Group]; own != nil {
		least += own.used
	}
	oldestFirst := rows[p.resource].OldestFirst
	if oldestFirst {
		least-- // the new comes before the old where both hold as much: else many with one each keep others out
	}
	victim := p.ranked.heaviest(least, func(g *group) *Grant { return g.heaviest(p.resource, 0) })
	if victim != nil || own == nil {
		return victim
	}
	self := own.accounts[k.Name]
	least = n
	if self != nil {
		least += self.used
	}
	if victim = own.heaviest(p.resource, least); victim == nil && self != nil && oldestFirst {
		return self.next(oldestFirst)
	}
	return victim
}

// heaviest returns a grant that can be taken back of the account which holds the most, more than least.
func (g *group) heaviest(r Resource, least int64) *Grant {
	return g.ranked.heaviest(least, func(h *holder) *Grant { return h.next(rows[r].OldestFirst) })
}

// maxBusy bounds how many busy grants of one account are passed over.
const maxBusy = 256

// next returns the grant of an account to take back first.
func (h *holder) next(oldestFirst bool) *Grant {
	e := h.revocable.Back()
	if oldestFirst {
		e = h.revocable.Front()
	}
	for range min(maxBusy, h.revocable.Len()) {
		g := e.Value.(*Grant)
		if g.revocation.busy == nil || !g.revocation.busy() {
			return g
		}
		// It comes last now, so that those behind it are found although there are many like it.
		if oldestFirst {
			h.revocable.MoveToBack(e)
			e = h.revocable.Front()
		} else {
			h.revocable.MoveToFront(e)
			e = h.revocable.Back()
		}
	}
	return nil
}

// first returns the oldest grant of an account that can be taken back, whether it is busy or not.
func (h *holder) first() *Grant {
	if e := h.revocable.Front(); e != nil {
		return e.Value.(*Grant)
	}
	return nil
}
