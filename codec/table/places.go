package table

import (
	"bytes"

	"sluice/codec/json"
)

// A place is a place in objects to which the members of a path lead. The places of all paths of custom columns are a tree,
// so that one pass over an object finds their values, however many columns there are.
type place struct {
	slot    int  // in row.found
	library bool // what follows for a path is evaluated by the library
	members map[string]*place
}

// found is what an object has at a place.
type found struct {
	value   json.Value // nil if there is none
	decoded any        // see columnPath.decode
	count   int        // see values; 0 until it is counted
}

// values returns about how many values there are in the value: a comma separates two.
func (f *found) values() int {
	if f.count == 0 {
		f.count = 1 + bytes.Count(f.value, []byte(","))
	}
	return f.count
}

// at returns the place of a path below p, which it adds to the tree if it is new. slots counts the places of the tree.
func (p *place) at(path []string, slots *int) *place {
	for _, name := range path {
		next := p.members[name]
		if next == nil {
			next = &place{slot: *slots}
			*slots++
			if p.members == nil {
				p.members = map[string]*place{}
			}
			p.members[name] = next
		}
		p = next
	}
	return p
}

// outermost returns the first place on the way down a path whose value the library needs, and how many members lead to it.
// One of them must be such a place.
func (p *place) outermost(path []string) (*place, int) {
	depth := 0
	for ; !p.library; depth++ {
		p = p.members[path[depth]]
	}
	return p, depth
}

// find keeps the value at a place, and those at all places below.
func (r *row) find(v json.Value, p *place) {
	r.found[p.slot].value = v
	missing := len(p.members)
	if missing == 0 {
		return
	}
	for key, member := range v.Members {
		if next := p.members[string(key)]; next != nil {
			r.find(member, next)
			if missing--; missing == 0 {
				return
			}
		}
	}
}
