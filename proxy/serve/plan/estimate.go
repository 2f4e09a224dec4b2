package plan

import (
	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/negotiate"
)

// A read is small if it is a page of up to smallPage objects or if about SmallBytes of stored objects
// answer it. Such a read costs the apiserver little.
const (
	smallPage  = 500
	SmallBytes = 1 << 20
)

// WeighRest estimates the length of the rest of a list, from the page that the read asks for on.
func (p *Plan) WeighRest(state *cache.Snapshot) int64 {
	s := p.Selection
	s.Keys.From = max(s.Keys.From, p.PageStart)
	return s.bytes(state, p.Indexes)
}

// Weigh estimates the work of the read at the apiserver, as the length of a response, and reports whether
// it is little.
func (p *Plan) Weigh(state *cache.Snapshot) (bytes int64, small bool) {
	bytes = p.Selection.bytes(state, p.Indexes)
	limit := p.Options.Limit
	return p.limited(bytes, state), bytes <= SmallBytes || limit > 0 && limit <= smallPage
}

// ConsistentGet reports whether the plan is of a get of the most recent state, which costs the apiserver
// next to nothing.
func (p *Plan) ConsistentGet() bool { return p.Verb == negotiate.Get && p.Match == MatchMostRecent }

// limited returns the bytes that the limit of a page permits, of an estimate of all.
func (p *Plan) limited(bytes int64, state *cache.Snapshot) int64 {
	limit, each := p.Options.Limit, AverageBytes(state)
	if limit > 0 && each > 0 && limit < bytes/each { // a client chooses the limit: no product of others
		return limit * each
	}
	return bytes
}

// scanBytes is how many bytes of a response cost the apiserver as much as an object that it reads for a
// selector that does not match.
const scanBytes = 24

// bytes estimates the stored bytes of the objects that a read selects, from the average object, and what
// the apiserver reads besides. The indexes that it needs are kept in a budget.
func (s *Selection) bytes(state *cache.Snapshot, indexes *tree.Budget) int64 {
	switch {
	case s.Indexed != nil:
		return int64(state.CountByIndex(*s.Indexed, s.Keys)) * AverageBytes(state)
	case s.terms.Empty():
		return StoredBytes(state, s.Keys)
	}
	var selected int64
	for run := range state.Select(s.terms, s.Keys, indexes) {
		selected += int64(run.Len())
	}
	return selected*AverageBytes(state) + int64(state.Count(s.Keys))*scanBytes
}

// StoredBytes estimates the stored bytes of the objects in a range from the average object.
func StoredBytes(state *cache.Snapshot, keys tree.Range) int64 {
	return state.Bytes() * int64(state.Count(keys)) / int64(max(state.Len(), 1))
}

// Examined estimates the stored bytes of the objects that must be looked at to show a state; 0 without one.
func (p *Plan) Examined(state *cache.Snapshot) int64 {
	switch {
	case state == nil:
		return 0
	case p.Selection.Filter == nil:
		return p.limited(StoredBytes(state, p.Selection.Keys), state)
	case p.Selection.Indexed != nil:
		return p.Selection.bytes(state, p.Indexes)
	}
	return StoredBytes(state, p.Selection.Keys) // a page ends after some that match
}

// AverageBytes returns the stored bytes of an average object.
func AverageBytes(state *cache.Snapshot) int64 { return state.Bytes() / int64(max(state.Len(), 1)) }
