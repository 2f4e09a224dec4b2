package accounts

import (
	"strings"
	"sync"
)

// Ledger holds the accounts of all callers. It is safe for concurrent use.
//
// What is taken back goes on taking memory until its holder has ended and gives it back: it is leaving. It is free for groups
// that take less than the one which it leaves, and not yet for others: else who comes again at once would take it twice.
type Ledger struct {
	mu      sync.Mutex // guards all below, and the grants
	pools   [numResources]pool
	memory  struct{ total, used, leaving int64 } // bytes, of all resources together
	shares  map[string]*share                    // of the memory that resources have in common, by group
	leaving map[string]int64                     // bytes of that which are leaving, by group
	ranked  ranking[*share]
}

// share is what a group takes of the memory that resources have in common.
type share struct {
	amount
	name string
}

// New returns a Ledger with so much of each resource, and so many bytes of memory for all of them
// together.
func New(t Totals, memory int64) *Ledger {
	l := &Ledger{shares: map[string]*share{}, leaving: map[string]int64{}, ranked: newRanking[*share]()}
	for r := range l.pools {
		p := &l.pools[r]
		p.ledger, p.resource, p.groups, p.ranked = l, Resource(r), map[string]*group{}, newRanking[*group]()
	}
	l.SetTotals(t)
	l.SetMemory(memory)
	return l
}

// SetTotals changes how much there is of each resource. What is held stays.
func (l *Ledger) SetTotals(t Totals) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.pools {
		l.pools[r].total = t[r]
	}
}

// SetMemory changes how many bytes of memory there are for all resources together. What is held stays.
func (l *Ledger) SetMemory(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory.total = bytes
}

// Key names an account. Accounts of one group share what the group gets.
type Key struct{ Group, Name string }

// serviceAccountPrefix begins the user names of service accounts, before namespace and name.
const serviceAccountPrefix = "system:serviceaccount:"

// ByUser returns the key of an authenticated user.
func ByUser(name string) Key {
	group := "user:" + name
	if qualified, ok := strings.CutPrefix(name, serviceAccountPrefix); ok {
		namespace, _, _ := strings.Cut(qualified, ":")
		group = "namespace:" + namespace
	}
	return Key{Group: group, Name: name}
}

// ByAddress returns the key of callers at an address that are not authenticated.
func ByAddress(address string) Key { return Key{Group: "address:" + address, Name: address} }

// Account returns the account of a caller.
func (l *Ledger) Account(k Key) Account { return Account{l, k} }

// Account is one caller's account in a Ledger. The zero Account holds what it likes: it is for handlers
// without flow control.
type Account struct {
	ledger *Ledger
	Key
}

// Take takes n of a resource. The error is a *Refused: the total is used up, or the account would hold
// more than three times what is left for others.
func (a Account) Take(r Resource, n int64) (*Grant, error) { return a.take(r, n, nil) }

// TakeRevocable is Take of what can be taken back: then the account may hold all that is free, and loses
// the grant by end when the total is scarce and it holds more than others. end is called at most once and
// must not block. The error is a *Refused if no other account holds more.
func (a Account) TakeRevocable(r Resource, n int64, end func()) (*Grant, error) {
	return a.take(r, n, &revocation{end: end})
}

// TakeWhileBusy is TakeRevocable of what is not taken back while busy reports true. It is called under a
// lock.
func (a Account) TakeWhileBusy(r Resource, n int64, busy func() bool, end func()) (*Grant, error) {
	return a.take(r, n, &revocation{end: end, busy: busy})
}

// TakeShared is TakeWhileBusy with the limit of Take: the account may hold at most three times what it leaves free, since all
// of its grants may be busy at once.
func (a Account) TakeShared(r Resource, n int64, busy func() bool, end func()) (*Grant, error) {
	return a.take(r, n, &revocation{end: end, busy: busy, shared: true})
}

func (a Account) take(r Resource, n int64, revocation *revocation) (*Grant, error) {
	if a.ledger == nil {
		return nil, nil
	}
	g := &Grant{pool: &a.ledger.pools[r], key: a.Key, revocation: revocation}
	if err := g.Resize(n); err != nil {
		return nil, err
	}
	return g, nil
}

// pool is what there is of one resource, and who holds it.
type pool struct {
	ledger   *Ledger
	resource Resource

	// Ledger.mu guards what follows.
	total, used    int64
	refused, ended uint64
	groups         map[string]*group // those that hold something
	ranked         ranking[*group]
}

// group is what accounts that share a share hold.
type group struct {
	amount
	accounts map[string]*holder
	ranked   ranking[*holder]
}

// add adds n, which may be negative, to what an account holds.
func (p *pool) add(k Key, n int64, fixed bool) *holder {
	g := p.groups[k.Group]
	if g == nil {
		g = &group{accounts: map[string]*holder{}, ranked: newRanking[*holder]()}
		p.groups[k.Group] = g
	}
	h := g.accounts[k.Name]
	if h == nil {
		h = &holder{}
		g.accounts[k.Name] = h
	}
	p.ledger.add(p.resource, k.Group, n*rows[p.resource].Bytes, fixed)
	p.used += n
	g.add(n, fixed)
	h.add(n, fixed)
	p.ranked.update(g)
	g.ranked.update(h)
	if h.used == 0 {
		delete(g.accounts, k.Name)
	}
	if g.used == 0 {
		delete(p.groups, k.Group)
	}
	return h
}

// add adds bytes, which may be negative, to what a group takes of the memory.
func (l *Ledger) add(r Resource, group string, bytes int64, fixed bool) {
	l.memory.used += bytes
	if r.apart() {
		return
	}
	s := l.shares[group]
	if s == nil {
		s = &share{name: group}
		l.shares[group] = s
	}
	s.add(bytes, fixed)
	l.ranked.update(s)
	if s.used == 0 {
		delete(l.shares, group)
	}
}

// left is how many times what it leaves free an account may hold of what cannot be taken back.
const left = 3

// apart is the part of the memory that each resource of callers who are not authenticated has for itself, as
// a divisor: else a caller who uses up the rest would keep everybody from connecting. The others share what
// these leave.
const apart = 16

// apart reports whether a resource has memory of its own.
func (r Resource) apart() bool { return r == Silent || r == Strangers || r == Unverified }

// room returns how many more of a resource there is memory for.
func (p *pool) room() int64 {
	l := p.ledger
	own := l.memory.total / apart
	if p.resource.apart() {
		return own/rows[p.resource].Bytes - p.used
	}
	used := l.memory.used
	for r := range l.pools {
		if q := &l.pools[r]; q.resource.apart() {
			used += own - q.used*rows[r].Bytes
		}
	}
	return (l.memory.total - used) / rows[p.resource].Bytes
}

// limit returns how much there is of the resource. A connection that is silent takes the descriptor of one that is not there.
func (p *pool) limit() int64 {
	if p.resource != Silent {
		return p.total
	}
	c := &p.ledger.pools[Connections]
	return p.total + max(0, c.total-c.used)
}

// fits reports whether the account of a grant may take n more for it, once what is leaving has left.
func (p *pool) fits(g *Grant, n int64) bool { return p.fitsInto(g, n, p.room()) }

// fitsNow is fits while there is what is leaving.
func (p *pool) fitsNow(g *Grant, n int64) bool {
	if p.resource.apart() || p.ledger.memory.leaving == 0 {
		return p.fits(g, n)
	}
	bytes := rows[p.resource].Bytes
	return p.fitsInto(g, n, p.room()-(p.ledger.leavingFor(g.key.Group, n*bytes)-g.owed*bytes+bytes-1)/bytes)
}

// leavingFor returns how many bytes are leaving that are not free yet for a group which wants n more: those that leave it, and
// groups that take no more than it would.
func (l *Ledger) leavingFor(group string, n int64) (bytes int64) {
	own, seen := l.takes(group)+n, 0
	for other, leaving := range l.leaving {
		if seen++; seen > maxPassedOver {
			return l.memory.leaving
		}
		if other == group || l.takes(other) <= own {
			bytes += leaving
		}
	}
	return bytes
}

// takes returns how much of the memory that resources have in common a group takes, with what is leaving.
func (l *Ledger) takes(group string) int64 {
	bytes := l.leaving[group]
	if s := l.shares[group]; s != nil {
		bytes += s.used
	}
	return bytes
}

// fitsInto is fits where there is memory for so much more.
func (p *pool) fitsInto(g *Grant, n, room int64) bool {
	free := min(p.limit()-p.used, room) - n
	var own amount
	if group := p.groups[g.key.Group]; group != nil {
		own = group.amount
	}
	switch {
	case g.revocation == nil:
		return own.fixed+n <= left*free
	case g.revocation.shared:
		return own.used+n <= left*free
	}
	return free >= 0
}
