package plan

import (
	"cmp"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/negotiate"
)

const (
	// A read is small if it is a page of up to smallPage objects or if about SmallBytes of stored objects
	// answer it. Such a read costs the apiserver little.
	smallPage  = 500
	SmallBytes = 1 << 20
	// unknownBytes is the estimate of all objects of a resource before anything is known of it, and
	// partOfAll the part of them that a read of one namespace, or with a selector, is taken to select.
	unknownBytes = 16 << 20
	partOfAll    = 16
	// unknownObject is the estimate of an object.
	unknownObject = 8 << 10
	// scanBytes is how many bytes of a response cost the apiserver as much as an object that it reads for a
	// selector that does not match.
	scanBytes = 24
)

// Cost is the estimated cost of a read at the apiserver.
type Cost struct {
	Bytes int64 // stored bytes of the objects that answer it, and scanBytes for each that is examined for a selector
	Rest  int64 // the same of a list from the page that the read asks for on
	Small bool
}

// Estimate returns the cost of the read at the apiserver. It is estimated once: by the store, or before the store is found, by
// the description of the resource.
func (p *Plan) Estimate() Cost {
	if p.cost == nil {
		var c Cost
		if p.Resource != nil {
			c = p.estimate(p.Resource.Store.Snapshot())
		} else {
			c.Rest = p.guess()
			c.Bytes = p.limited(c.Rest, unknownObject)
		}
		p.cost = &c
	}
	return *p.cost
}

// estimate is Estimate by a state of the store.
func (p *Plan) estimate(state *cache.Snapshot) Cost {
	s := p.Selection
	s.Keys.From = max(s.Keys.From, p.PageStart)
	rest, limit := s.bytes(state, p.Indexes), p.Options.Limit
	return Cost{Bytes: p.limited(rest, AverageBytes(state)), Rest: rest, Small: rest <= SmallBytes || limit > 0 && limit <= smallPage}
}

// guess estimates the stored bytes of the objects that a read selects of a resource whose store is not found.
func (p *Plan) guess() int64 {
	bytes := cmp.Or(p.resources.Progress(p.Info.GroupVersionResource()).Bytes, unknownBytes)
	switch {
	case p.Read == nil || p.Read.Whole():
		return bytes
	case p.Read.RequiredName() != "":
		return unknownObject
	}
	return bytes / partOfAll
}

// ConsistentGet reports whether the plan is of a get of the most recent state, which costs the apiserver
// next to nothing.
func (q *Query) ConsistentGet() bool { return q.Verb == negotiate.Get && q.Match == MatchMostRecent }

// limited returns the bytes that the limit of a page permits, of an estimate of all.
func (p *Plan) limited(bytes, each int64) int64 {
	limit := p.Options.Limit
	if limit > 0 && each > 0 && limit < bytes/each { // a client chooses the limit: no product of others
		return limit * each
	}
	return bytes
}

// bytes estimates the stored bytes of the objects that a read selects, from the average object, and those that
// the apiserver reads besides. The indexes that it needs are kept in a budget.
func (s *Selection) bytes(state *cache.Snapshot, indexes *tree.Budget) int64 {
	all, indexed := s.Count(state, s.Keys)
	switch {
	case s.Indexed != nil:
		return int64(indexed) * AverageBytes(state)
	case s.terms.Empty():
		return s.StoredBytes(state)
	}
	var selected int64
	for run := range s.candidates(state, indexes) {
		selected += int64(run.Len())
	}
	return selected*AverageBytes(state) + int64(all)*scanBytes
}

// StoredBytes estimates the stored bytes of the visible objects in the range from the average object.
func (s *Selection) StoredBytes(state *cache.Snapshot) int64 {
	all, _ := s.Count(state, s.Keys)
	return state.Bytes() * int64(all) / int64(max(state.Len(), 1))
}

// Examined estimates the stored bytes of the objects that must be looked at to show a state; 0 without one.
func (p *Plan) Examined(state *cache.Snapshot) int64 {
	switch {
	case state == nil:
		return 0
	case p.Selection.Filter == nil:
		return p.limited(p.Selection.StoredBytes(state), AverageBytes(state))
	case p.Selection.Indexed != nil:
		return p.Selection.bytes(state, p.Indexes)
	}
	return p.Selection.StoredBytes(state) // a page ends after some that match
}

// AverageBytes returns the stored bytes of an average object.
func AverageBytes(state *cache.Snapshot) int64 { return state.Bytes() / int64(max(state.Len(), 1)) }
