package accounts

// Usage is how one resource is used.
type Usage struct {
	Used, Total int64
	Largest     int64 // what the account or group with the most holds
	Accounts    int   // how many hold something; those of a group count as one
	Refused     uint64
	Revoked     uint64
}

// Usage returns how a resource is used.
func (l *Ledger) Usage(r Resource) Usage {
	p := &l.pools[r]
	l.mu.Lock()
	defer l.mu.Unlock()
	u := Usage{Used: p.used, Total: p.total, Accounts: len(p.groups), Refused: p.refused, Revoked: p.ended}
	for _, g := range p.groups {
		u.Largest = max(u.Largest, g.used)
	}
	return u
}

// Memory returns how many bytes all resources take together, and how many there are.
func (l *Ledger) Memory() (used, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory.used, l.memory.total
}

// Heaviest returns the group of accounts that holds most of a resource, such as user:NAME, namespace:NAME of service
// accounts or address:ADDRESS; empty if nobody holds any. Of several it returns the first by name.
func (l *Ledger) Heaviest(r Resource) (name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := int64(0)
	for group, g := range l.pools[r].groups {
		if g.used > most || g.used == most && most > 0 && group < name {
			name, most = group, g.used
		}
	}
	return name
}
