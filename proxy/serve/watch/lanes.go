package watch

import (
	"sync"
	"time"

	"sluice/proxy/heap"
)

const (
	// soonAtOnce is how many rechecks run at the same time that a change of access rules asks for, and how many whose last one
	// failed. Reviews of new requests have the places that these leave. A group has soonOfOne at most: its rechecks may hang.
	soonAtOnce = 20
	soonOfOne  = 16
	// restFactor is how many times as long as a recheck took no other begins of those that are made from time to time, for at most
	// maxRest. They take a tenth of the time if they take up to 100 ms, however many watches there are: each node and each token
	// has reviews of its own.
	restFactor = 9
	maxRest    = time.Second
	// longest is how long such a recheck keeps the others waiting.
	longest = time.Second
)

// lanes make the rechecks of all open watches, each when it is due or, where too many are, as soon as one ends. Half of the
// time goes to those that have been due for longest, so that a caller with many watches is not kept back, and half to the groups of
// accounts by the time that they have had, so that nobody's revocation waits for the many watches of another, or for slow reviews.
type lanes struct {
	once      sync.Once
	mu        sync.Mutex // guards the fields below
	changed   lane       // of those whose access rules have changed
	failed    lane       // of those that could not be made, and may take long
	sometimes lane
}

// lane is rechecks that wait, and some that run.
type lane struct {
	all     *lanes
	atOnce  int
	rest    time.Duration // for each unit of time that a recheck took; 0 for none
	groups  map[string]*laneGroup
	later   heap.Heap[*laneGroup] // with nothing due, the next that has first
	ready   heap.Heap[*laneGroup] // the others, the one first that has had the least time
	longest heap.Heap[*laneGroup] // the same, the one first that has been due for longest
	least   time.Duration         // that a group which becomes ready is taken to have had
	turns   time.Duration         // how much more time went to ready than to longest
	running int
	timer   *time.Timer // fires when the next is due; nil before the first
}

// laneGroup is the rechecks of a group of accounts in one lane.
type laneGroup struct {
	lane    *lane
	name    string
	waiting heap.Heap[*accessRecheck] // the next that is due first
	running int
	ready   bool          // it is in lane.ready and lane.longest, rather than in lane.later
	had     time.Duration // the time that its rechecks took, and rested
	place   int           // in lane.later or lane.ready
	overdue int           // its place in lane.longest
}

// laneTick is the time that a recheck has had when it begins, so that of groups which have had the same not all begin for one.
const laneTick = time.Millisecond

// init makes the lanes ready.
func (s *lanes) init() {
	s.once.Do(func() {
		place, overdue := func(g *laneGroup) *int { return &g.place }, func(g *laneGroup) *int { return &g.overdue }
		byDue := func(a, b *laneGroup) bool { return a.due().Before(b.due()) }
		for _, l := range []*lane{&s.changed, &s.failed, &s.sometimes} {
			l.all, l.atOnce, l.groups = s, soonAtOnce, map[string]*laneGroup{}
			l.later, l.longest = heap.New(byDue, place), heap.New(byDue, overdue)
			l.ready = heap.New(func(a, b *laneGroup) bool { return a.had < b.had }, place)
		}
		s.sometimes.atOnce, s.sometimes.rest = 1, restFactor
	})
}

// due returns when the next recheck of the group is due.
func (g *laneGroup) due() time.Time { return g.waiting.All[0].due }

// schedule makes a recheck due after some time, in one lane. One that waits in this lane stays due when it was, if that is earlier.
func (l *lane) schedule(a *accessRecheck, after time.Duration) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	due := time.Now().Add(after)
	if a.group != nil && a.group.lane == l && a.due.Before(due) {
		return
	}
	a.remove()
	g := l.groups[a.account]
	if g == nil {
		g = &laneGroup{lane: l, name: a.account, waiting: heap.New(
			func(a, b *accessRecheck) bool { return a.due.Before(b.due) }, func(a *accessRecheck) *int { return &a.place })}
		l.groups[a.account] = g
	}
	a.group, a.due = g, due
	g.waiting.Update(a, true)
	g.update()
	l.next()
}

// cancel ends the waiting of a recheck.
func (s *lanes) cancel(a *accessRecheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.remove()
}

// remove takes a recheck out of its lane. The caller must hold lanes.mu.
func (a *accessRecheck) remove() {
	if g := a.group; g != nil {
		a.group = nil
		g.waiting.Update(a, false)
		g.update()
	}
}

// update puts the group, whose waiting rechecks or time have changed, where it belongs. The caller must hold lanes.mu.
func (g *laneGroup) update() {
	l := g.lane
	l.of(g).Update(g, false)
	l.longest.Update(g, false)
	switch {
	case len(g.waiting.All) == 0 && g.running == 0:
		delete(l.groups, g.name)
		return
	case len(g.waiting.All) == 0 || g.running == soonOfOne:
		return
	}
	before := g.ready
	if g.ready = !g.due().After(time.Now()); g.ready && !before {
		g.had = max(g.had, l.least)
	}
	l.of(g).Update(g, true)
	l.longest.Update(g, g.ready)
}

// of returns the heap that a group is in by its place.
func (l *lane) of(g *laneGroup) *heap.Heap[*laneGroup] {
	if g.ready {
		return &l.ready
	}
	return &l.later
}

// next starts the reviews that are due, or waits for them. The caller must hold lanes.mu.
func (l *lane) next() {
	for l.running < l.atOnce {
		for len(l.later.All) > 0 && !l.later.All[0].due().After(time.Now()) {
			l.later.All[0].update()
		}
		if len(l.ready.All) == 0 {
			break
		}
		g, inTurn := l.longest.All[0], l.turns <= 0
		if inTurn {
			g = l.ready.All[0]
			l.least = g.had
		}
		g.had += laneTick
		l.running++
		g.running++
		first := g.waiting.All[0]
		first.remove()
		go l.run(first, g, inTurn)
	}
	if l.running < l.atOnce && len(l.later.All) > 0 {
		l.wake(time.Until(l.later.All[0].due()))
	}
}

// wake calls next after some time.
func (l *lane) wake(after time.Duration) {
	if l.timer != nil {
		l.timer.Reset(after)
		return
	}
	l.timer = time.AfterFunc(after, func() {
		l.all.mu.Lock()
		defer l.all.mu.Unlock()
		l.next()
	})
}

// run makes a recheck of a group, in its turn or because it has been due for longest.
func (l *lane) run(a *accessRecheck, of *laneGroup, inTurn bool) {
	begin := time.Now()
	done := sync.OnceFunc(func() { l.done(of, inTurn, time.Since(begin)) })
	if l.rest == 0 {
		a.check()
		done()
		return
	}
	late := time.AfterFunc(longest, done)
	a.check()
	late.Stop()
	time.AfterFunc(min(l.rest*time.Since(begin), maxRest), done)
}

// done gives the place of a recheck of a group, which has had it for some time, to the next one.
func (l *lane) done(of *laneGroup, inTurn bool, had time.Duration) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.running--
	of.running--
	if inTurn {
		l.turns += had
	} else {
		l.turns -= had
	}
	of.had += had
	of.update()
	l.next()
}
