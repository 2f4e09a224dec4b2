package cache

import "sort"

// ring is a buffer of events in the order of their positions. Its store's mutex guards it.
type ring struct {
	buffer  []*Event // the length is zero or a power of two
	start   int      // index of the oldest event
	n       int
	trimmed uint64 // position of the newest event that was removed
}

// at returns the event at index i, counted from the oldest.
func (r *ring) at(i int) *Event { return r.buffer[(r.start+i)&(len(r.buffer)-1)] }

func (r *ring) push(e *Event) {
	if r.n == len(r.buffer) {
		r.resize(max(2*len(r.buffer), 16))
	}
	r.buffer[(r.start+r.n)&(len(r.buffer)-1)] = e
	r.n++
}

// pop removes and returns the oldest event, which must exist.
func (r *ring) pop() *Event {
	e := r.buffer[r.start]
	r.buffer[r.start] = nil
	r.start = (r.start + 1) & (len(r.buffer) - 1)
	r.n--
	r.trimmed = e.position
	if len(r.buffer) > 64 && r.n < len(r.buffer)/4 {
		r.resize(len(r.buffer) / 2)
	}
	return e
}

func (r *ring) resize(size int) {
	buffer := make([]*Event, size)
	for i := range r.n {
		buffer[i] = r.at(i)
	}
	r.buffer, r.start = buffer, 0
}

// nearEnd is how many of the newest events are looked at before the others are searched.
const nearEnd = 8

// indexAfter returns the index of the first event after position. Most readers lack only the newest events.
func (r *ring) indexAfter(position uint64) int {
	for i := r.n; i >= 0 && r.n-i < nearEnd; i-- {
		if i == 0 || r.at(i-1).position <= position {
			return i
		}
	}
	return sort.Search(r.n, func(i int) bool { return r.at(i).position > position })
}

// indexSince returns the index of the first event that a reader of a state at version may lack.
func (r *ring) indexSince(version uint64) int {
	return sort.Search(r.n, func(i int) bool { return r.at(i).isAfter(version) })
}

// indexNewer returns the index of the first event with a resource version above version.
func (r *ring) indexNewer(version uint64) int {
	return sort.Search(r.n, func(i int) bool { return r.at(i).RV > version })
}
