package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Check returns what in the history breaks a promise, in the order of time.
func Check(h *History) []Violation {
	c := &checker{history: h, scopes: map[Scope][]Event{}}
	if err := h.Log.Valid(); err != nil {
		c.report(Broken, 0, err.Error(), nil)
		return c.found
	}
	c.writes()
	c.order = newOrder(c)
	c.reads()
	c.gets()
	c.watches()
	slices.SortStableFunc(c.found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return c.found
}

// checker gathers violations.
type checker struct {
	history *History
	order   *order
	scopes  map[Scope][]Event // what watches of a scope have to see
	found   []Violation
}

func (c *checker) report(kind Kind, at Tick, text string, excerpt []string) {
	c.found = append(c.found, Violation{kind, at, text, excerpt})
}

// writes finds each acknowledged write in the log, and completes deletions by
// the version that they have there.
func (c *checker) writes() {
	log := &c.history.Log
	versions := map[uint64]Event{}
	ends := map[string]uint64{} // of objects, by uid
	for _, e := range log.Events {
		versions[e.Version] = e
		if e.Type == Deleted {
			ends[e.Object.UID] = e.Version
		}
	}
	for i := range c.history.Writes {
		w := &c.history.Writes[i]
		if w.Version == 0 {
			w.Version = ends[w.UID]
		}
		if e, ok := versions[w.Version]; !ok || e.Object.Key != w.Key {
			c.report(Lost, w.Ended, w.String(), c.around(w.Began, w.Ended, w.Version))
		}
	}
}

// expected is what a watch of the scope has to see of the log.
func (c *checker) expected(scope Scope) []Event {
	events, known := c.scopes[scope]
	if !known {
		var err error
		if events, err = c.history.Log.In(scope); err != nil {
			c.report(Broken, 0, err.Error(), nil)
		}
		c.scopes[scope] = events
	}
	return events
}

const (
	// nearEvents is how many events of the log an excerpt shows on each side
	// of a version, and nearTicks how far from the scene it looks for notes.
	nearEvents = 4
	nearTicks  = 2000
)

// around is the part of the history near a version, and what happened near the
// time.
func (c *checker) around(from, to Tick, version uint64) []string {
	var lines []string
	for _, n := range c.history.Notes {
		if n.At+nearTicks > from && n.At < to {
			lines = append(lines, fmt.Sprintf("note: %s [%d]", n.Text, n.At))
		}
	}
	events := c.history.Log.Events
	i, _ := slices.BinarySearchFunc(events, version, func(e Event, v uint64) int { return cmp.Compare(e.Version, v) })
	for _, e := range events[max(0, i-nearEvents):min(len(events), i+nearEvents+1)] {
		lines = append(lines, "log: "+e.String())
	}
	return lines
}
