package cache

import "sort"

// history is a ring buffer of events in the order of their positions. Its store's mutex guards it.
type history struct {
	ring    []*Event // the length is zero or a power of two
	start   int      // index of the oldest event
	n       int
	trimmed uint64 // position of the newest event that was removed
}

// at returns the event at index i, counted from the oldest.
func (h *history) at(i int) *Event { return h.ring[(h.start+i)&(len(h.ring)-1)] }

func (h *history) push(e *Event) {
	if h.n == len(h.ring) {
		h.resize(max(2*len(h.ring), 16))
	}
	h.ring[(h.start+h.n)&(len(h.ring)-1)] = e
	h.n++
}

// pop removes and returns the oldest event, which must exist.
func (h *history) pop() *Event {
	e := h.ring[h.start]
	h.ring[h.start] = nil
	h.start = (h.start + 1) & (len(h.ring) - 1)
	h.n--
	h.trimmed = e.position
	if len(h.ring) > 64 && h.n < len(h.ring)/4 {
		h.resize(len(h.ring) / 2)
	}
	return e
}

func (h *history) resize(size int) {
	ring := make([]*Event, size)
	for i := range h.n {
		ring[i] = h.at(i)
	}
	h.ring, h.start = ring, 0
}

// nearEnd is how many of the newest events are looked at before the others are searched.
const nearEnd = 8

// indexAfter returns the index of the first event after position. Most readers lack only the newest events.
func (h *history) indexAfter(position uint64) int {
	for i := h.n; i >= 0 && h.n-i < nearEnd; i-- {
		if i == 0 || h.at(i-1).position <= position {
			return i
		}
	}
	return sort.Search(h.n, func(i int) bool { return h.at(i).position > position })
}

// indexSince returns the index of the first event that a reader of a state at version may lack.
func (h *history) indexSince(version uint64) int {
	return sort.Search(h.n, func(i int) bool { return h.at(i).isAfter(version) })
}

// indexNewer returns the index of the first event with a resource version above version.
func (h *history) indexNewer(version uint64) int {
	return sort.Search(h.n, func(i int) bool { return h.at(i).RV > version })
}
