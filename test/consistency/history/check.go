package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Check returns the violations of the promises of the API in the history, in the order of time.
func Check(h *History) []Violation {
	c := &checker{history: h, expectedEvents: map[Scope][]Event{}}
	if err := h.Log.Valid(); err != nil {
		c.report(InvalidHistory, 0, err.Error(), nil)
		return c.found
	}
	c.writes()
	c.order = newOrder(h)
	c.reads()
	c.gets()
	c.watches()
	slices.SortStableFunc(c.found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return c.found
}

// checker collects violations.
type checker struct {
	history        *History
	order          *order
	expectedEvents map[Scope][]Event // of a watch of each scope
	found          []Violation
}

func (c *checker) report(kind Kind, at Tick, text string, excerpt []string) {
	c.found = append(c.found, Violation{kind, at, text, excerpt})
}

// writes finds each acknowledged write in the log. It adds the resource version to deletions, whose
// acknowledgement does not have it.
func (c *checker) writes() {
	log := &c.history.Log
	versions := map[uint64]Event{}
	deletions := map[string]uint64{} // versions by UID
	for _, e := range log.Events {
		versions[e.Version] = e
		if e.Type == Deleted {
			deletions[e.Object.UID] = e.Version
		}
	}
	for i := range c.history.Writes {
		w := &c.history.Writes[i]
		if w.Version == 0 {
			w.Version = deletions[w.UID]
		}
		if e, ok := versions[w.Version]; !ok || e.Object.Key != w.Key {
			c.report(LostWrite, w.Ended, w.String(), c.around(w.Began, w.Ended, w.Version))
		}
	}
}

// expected returns the events that a watch of the scope must deliver.
func (c *checker) expected(scope Scope) []Event {
	events, known := c.expectedEvents[scope]
	if !known {
		var err error
		if events, err = c.history.Log.In(scope); err != nil {
			c.report(InvalidHistory, 0, err.Error(), nil)
		}
		c.expectedEvents[scope] = events
	}
	return events
}

const (
	// nearEvents is how many events of the log an excerpt shows on each side of a version.
	nearEvents = 4
	// nearTicks is how long before a violation an excerpt shows notes.
	nearTicks = 2000
)

// around returns an excerpt of the log around a version, and the notes of the time.
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
