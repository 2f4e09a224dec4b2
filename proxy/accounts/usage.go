package accounts

// Usage is how one resource is used.
type Usage struct {
	Used, Total int64
	Heaviest    string // the group that holds most, by name the first of several; empty if nobody holds any
	Largest     int64  // what it holds
	Refused     uint64
	Revoked     uint64
}

// Usage returns how a resource is used.
func (l *Ledger) Usage(r Resource) Usage {
	p := &l.pools[r]
	l.mu.Lock()
	defer l.mu.Unlock()
	u := Usage{Used: p.used, Total: p.limit(), Refused: p.refused, Revoked: p.ended}
	for name, g := range p.groups {
		if g.used > u.Largest || g.used == u.Largest && name < u.Heaviest {
			u.Heaviest, u.Largest = name, g.used
		}
	}
	return u
}

// Limit returns how much of a resource there is that has memory of its own.
func (l *Ledger) Limit(r Resource) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.pools[r]
	return min(p.limit(), p.used+p.room())
}

// Memory returns how many bytes all resources take together, with what is leaving, and how many there are.
func (l *Ledger) Memory() (used, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory.used + l.memory.leaving, l.memory.total
}

// LeastMemory returns with how many bytes of memory all that is held would just fit, beside what is kept for callers who are not
// authenticated.
func (l *Ledger) LeastMemory() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, common := l.memory.leaving, int64(apart) // of apart parts
	for r := range l.pools {
		if p := &l.pools[r]; p.resource.apart() {
			common--
		} else {
			used += p.used * rows[r].Bytes
		}
	}
	return used * apart / common
}

// Heaviest returns the group of accounts that holds most of a resource, such as user:NAME, namespace:NAME of service
// accounts or address:ADDRESS; empty if nobody holds any.
func (l *Ledger) Heaviest(r Resource) (name string) { return l.Usage(r).Heaviest }
