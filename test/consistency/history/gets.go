package history

import (
	"fmt"
	"math"
)

// revision is the content of one key from a version on; nil means that the object does not exist.
type revision struct {
	since  uint64
	object *Object
}

// revisions returns the revisions of each key, oldest first.
func (l *Log) revisions() map[string][]revision {
	all := map[string][]revision{}
	for _, o := range l.State {
		all[o.Key] = append(all[o.Key], revision{0, o})
	}
	for _, e := range l.Events {
		if len(all[e.Object.Key]) == 0 {
			all[e.Object.Key] = append(all[e.Object.Key], revision{0, nil})
		}
		now := revision{e.Version, e.Object}
		if e.Type == Deleted {
			now.object = nil
		}
		all[e.Object.Key] = append(all[e.Object.Key], now)
	}
	return all
}

// gets checks all gets. A get does not return the version of the state that it reads, so its answer
// must be correct at some version between the oldest that it may show and the newest that can
// exist.
func (c *checker) gets() {
	if len(c.history.Gets) == 0 {
		return
	}
	revisions := c.history.Log.revisions()
	for i := range c.history.Gets {
		c.get(&c.history.Gets[i], revisions)
	}
}

func (c *checker) get(g *Get, revisions map[string][]revision) {
	oldest := observation{version: g.Consistency.NotOlderThan}
	if g.Consistency.MostRecent {
		oldest = c.order.newestBefore(g.Began)
	}
	future := c.order.lowestWrittenAfter(g.Ended)
	own := revisions[g.Key]
	if len(own) == 0 {
		own = []revision{{0, nil}}
	}
	kind := g.find(own, oldest.version, future.version)
	if kind == "" {
		return
	}
	excerpt := []string{g.String(), g.Object.full()}
	if oldest.source != nil {
		excerpt = append(excerpt, oldest.source.String())
	}
	if kind == Future {
		excerpt = append(excerpt, future.source.String())
	}
	for _, l := range own[max(0, len(own)-nearEvents):] {
		excerpt = append(excerpt, fmt.Sprintf("%s from version %d: %s", g.Key, l.since, l.object))
	}
	c.report(kind, g.Ended, fmt.Sprintf("%s is answered as %s", g.Key, g.Object), append(excerpt, c.around(g.Began, g.Ended, oldest.version)...))
}

// find looks for the answer among the revisions of its key. It returns "" if the answer was correct
// at some version in [oldest, future), and else the violation.
func (g *Get) find(revisions []revision, oldest, future uint64) Kind {
	kind := Content
	for i, l := range revisions {
		end := uint64(math.MaxUint64)
		if i+1 < len(revisions) {
			end = revisions[i+1].since
		}
		switch {
		case !l.object.equal(g.Object):
		case end <= oldest:
			kind = Stale
		case l.since >= future:
			kind = Future
		default:
			return ""
		}
	}
	return kind
}
