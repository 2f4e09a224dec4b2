package watch

import (
	"sync"
	"time"

	"sluice/proxy/heap"
)

const (
	// soonAtOnce is how many rechecks run at the same time that a change of access rules asks for, and how many whose last one
	// failed. Reviews of new requests have the places that these leave.
	soonAtOnce = 16
	// restFactor is how many times as long as a recheck took no other begins of those that are made from time to time, for at most
	// maxRest. They take a tenth of the time if they take up to 100 ms, however many watches there are: each node and each token
	// has reviews of its own.
	restFactor = 9
	maxRest    = time.Second
	// longest is how long such a recheck keeps the others waiting.
	longest = time.Second
)

// lanes make the rechecks of all open watches, each when it is due or, where too many are, as soon as it is its turn: the groups
// of accounts take turns, so that nobody's revocation waits for the many watches of another.
type lanes struct {
	once      sync.Once
	mu        sync.Mutex // guards what follows
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
	ready   heap.Heap[*laneGroup] // the others, in turn
	turn    uint64                // of the group that became ready last
	running int
	timer   *time.Timer // fires when the next is due; nil before the first
}

// laneGroup is the waiting rechecks of a group of accounts in one lane.
type laneGroup struct {
	lane    *lane
	name    string
	waiting heap.Heap[*accessRecheck] // the next that is due first; never empty
	turn    uint64                    // in lane.ready; 0 in lane.later
	place   int
}

// init makes the lanes ready.
func (s *lanes) init() {
	s.once.Do(func() {
		place := func(g *laneGroup) *int { return &g.place }
		for _, l := range []*lane{&s.changed, &s.failed, &s.sometimes} {
			l.all, l.atOnce, l.groups = s, soonAtOnce, map[string]*laneGroup{}
			l.later = heap.New(func(a, b *laneGroup) bool { return a.due().Before(b.due()) }, place)
			l.ready = heap.New(func(a, b *laneGroup) bool { return a.turn < b.turn }, place)
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

// update puts the group, whose waiting rechecks have changed, where it belongs. The caller must hold lanes.mu.
func (g *laneGroup) update() {
	l := g.lane
	l.of(g).Update(g, false)
	if len(g.waiting.All) == 0 {
		delete(l.groups, g.name)
		return
	}
	switch due := !g.due().After(time.Now()); {
	case !due:
		g.turn = 0
	case g.turn == 0:
		l.turn++
		g.turn = l.turn
	}
	l.of(g).Update(g, true)
}

// of returns the heap that a group is in.
func (l *lane) of(g *laneGroup) *heap.Heap[*laneGroup] {
	if g.turn > 0 {
		return &l.ready
	}
	return &l.later
}

// next starts what is due, or waits for it. The caller must hold lanes.mu.
func (l *lane) next() {
	for l.running < l.atOnce {
		for len(l.later.All) > 0 && !l.later.All[0].due().After(time.Now()) {
			l.later.All[0].update()
		}
		if len(l.ready.All) == 0 {
			break
		}
		g := l.ready.All[0]
		first := g.waiting.All[0]
		l.ready.Update(g, false)
		g.turn = 0 // its next one comes after those of the others
		first.remove()
		l.running++
		go l.run(first)
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

// run makes a recheck.
func (l *lane) run(a *accessRecheck) {
	if l.rest == 0 {
		a.check()
		l.done()
		return
	}
	begin, done := time.Now(), sync.OnceFunc(l.done)
	late := time.AfterFunc(longest, done)
	a.check()
	late.Stop()
	time.AfterFunc(min(l.rest*time.Since(begin), maxRest), done)
}

// done gives the place of a recheck to the next one.
func (l *lane) done() {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.running--
	l.next()
}
