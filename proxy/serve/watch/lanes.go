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

// lanes make the rechecks of all open watches, each when it is due or, where too many are, as soon as it is its turn.
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
	waiting heap.Heap[*accessRecheck]
	running int
	timer   *time.Timer // fires when the next is due; nil before the first
}

// init makes the lanes ready.
func (s *lanes) init() {
	s.once.Do(func() {
		for _, l := range []*lane{&s.changed, &s.failed, &s.sometimes} {
			l.all, l.atOnce = s, soonAtOnce
			l.waiting = heap.New(func(a, b *accessRecheck) bool { return a.due.Before(b.due) }, func(a *accessRecheck) *int { return &a.place })
		}
		s.sometimes.atOnce, s.sometimes.rest = 1, restFactor
	})
}

// schedule makes a recheck due after some time, in one lane. One that waits in this lane stays due when it was, if that is earlier.
func (l *lane) schedule(a *accessRecheck, after time.Duration) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	due := time.Now().Add(after)
	if a.lane == l && a.due.Before(due) {
		return
	}
	a.remove()
	a.lane, a.due = l, due
	l.waiting.Update(a, true)
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
	if a.lane != nil {
		a.lane.waiting.Update(a, false)
		a.lane = nil
	}
}

// next starts what is due, or waits for it. The caller must hold lanes.mu.
func (l *lane) next() {
	for l.running < l.atOnce && len(l.waiting.All) > 0 {
		first := l.waiting.All[0]
		if wait := time.Until(first.due); wait > 0 {
			l.wake(wait)
			return
		}
		first.remove()
		l.running++
		go l.run(first)
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
