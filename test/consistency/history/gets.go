package history

import (
	"fmt"
	"math"
)

// life is what one key held, and since which version; nil is nothing.
type life struct {
	since  uint64
	object *Object
}

// lives is the history of each key.
func (l *Log) lives() map[string][]life {
	all := map[string][]life{}
	for _, o := range l.State {
		all[o.Key] = append(all[o.Key], life{0, o})
	}
	for _, e := range l.Events {
		if len(all[e.Object.Key]) == 0 {
			all[e.Object.Key] = append(all[e.Object.Key], life{0, nil})
		}
		now := life{e.Version, e.Object}
		if e.Type == Deleted {
			now.object = nil
		}
		all[e.Object.Key] = append(all[e.Object.Key], now)
	}
	return all
}

// gets judges all reads of one object. They tell no version of their own, so
// their answer must be one of those that were right at some version between
// the oldest and the newest that may be told.
func (c *checker) gets() {
	if len(c.history.Gets) == 0 {
		return
	}
	lives := c.history.Log.lives()
	for i := range c.history.Gets {
		c.get(&c.history.Gets[i], lives)
	}
}

func (c *checker) get(g *Get, lives map[string][]life) {
	oldest := told{version: g.Promise.AtLeast}
	if g.Promise.Fresh {
		oldest = c.order.floor(g.Began)
	}
	unborn, write := c.order.ceiling(g.Ended)
	line := lives[g.Key]
	if len(line) == 0 {
		line = []life{{0, nil}}
	}
	kind := g.among(line, oldest.version, unborn)
	if kind == "" {
		return
	}
	excerpt := []string{g.String(), g.Object.full()}
	if oldest.by != nil {
		excerpt = append(excerpt, oldest.by.String())
	}
	if kind == Future {
		excerpt = append(excerpt, write.String())
	}
	for _, l := range line[max(0, len(line)-nearEvents):] {
		excerpt = append(excerpt, fmt.Sprintf("%s from %d: %s", g.Key, l.since, l.object))
	}
	c.report(kind, g.Ended, fmt.Sprintf("%s is told to be %s", g.Key, g.Object), append(excerpt, c.around(g.Began, g.Ended, oldest.version)...))
}

// among looks for the answer in the life of its key. It returns what is wrong
// with it, or nothing if it was right at some version from oldest on and before
// unborn.
func (g *Get) among(line []life, oldest, unborn uint64) Kind {
	kind := Content
	for i, l := range line {
		end := uint64(math.MaxUint64)
		if i+1 < len(line) {
			end = line[i+1].since
		}
		switch {
		case !l.object.equal(g.Object):
		case end <= oldest:
			kind = Stale
		case l.since >= unborn:
			kind = Future
		default:
			return ""
		}
	}
	return kind
}
