package cache

import "sort"

// log is a queue of events in the order of their positions: it grows at the
// head of time and is trimmed at its tail. It is guarded by its store's mutex.
type log struct {
	ring  []*Event // length is zero or a power of two
	start int      // index of the oldest event
	n     int
	lost  uint64 // position of the newest event that was trimmed
}

func (l *log) at(i int) *Event { return l.ring[(l.start+i)&(len(l.ring)-1)] }

func (l *log) push(e *Event) {
	if l.n == len(l.ring) {
		l.resize(max(2*len(l.ring), 16))
	}
	l.ring[(l.start+l.n)&(len(l.ring)-1)] = e
	l.n++
}

// pop trims the oldest event, which must exist, and returns it.
func (l *log) pop() *Event {
	e := l.ring[l.start]
	l.ring[l.start] = nil
	l.start = (l.start + 1) & (len(l.ring) - 1)
	l.n--
	l.lost = e.seq
	if len(l.ring) > 64 && l.n < len(l.ring)/4 {
		l.resize(len(l.ring) / 2)
	}
	return e
}

func (l *log) resize(size int) {
	ring := make([]*Event, size)
	for i := range l.n {
		ring[i] = l.at(i)
	}
	l.ring, l.start = ring, 0
}

// after returns the index of the first event behind position seq.
func (l *log) after(seq uint64) int {
	return sort.Search(l.n, func(i int) bool { return l.at(i).seq > seq })
}

// newer returns the index of the first event with a version above rv.
func (l *log) newer(rv uint64) int {
	return sort.Search(l.n, func(i int) bool { return l.at(i).RV > rv })
}
