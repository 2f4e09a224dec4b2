package resources

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/test/support/fake"
)

// queue runs fills in a bubble and records the order in which they enter.
type queue struct {
	fills   fills
	mu      sync.Mutex // guards what follows
	entered []string
	leave   map[string]func()
}

func newQueue() *queue {
	return &queue{fills: newFills(), leave: map[string]func(){}}
}

// add adds a fill that a user of the same name has started.
func (q *queue) add(t *testing.T, name string, bytes int64) { q.start(t, name, name, bytes) }

// start adds a fill that a user has started.
func (q *queue) start(t *testing.T, name, user string, bytes int64) {
	go func() {
		leave, err := q.fills.enter(t.Context(), bytes, user)
		if err != nil {
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.entered, q.leave[name] = append(q.entered, name), leave
	}()
	synctest.Wait()
}

// count returns how many fills have entered.
func (q *queue) count() int {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entered)
}

// end ends a fill.
func (q *queue) end(name string) {
	synctest.Wait()
	q.mu.Lock()
	leave := q.leave[name]
	q.mu.Unlock()
	leave()
}

// expect checks which fills have entered so far.
func (q *queue) expect(t *testing.T, names ...string) {
	t.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Equal(q.entered, names) {
		t.Errorf("entered %v, want %v", q.entered, names)
	}
}

func TestFillsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		var first []string
		for i := range maxFills {
			first = append(first, string(rune('a'+i)))
			q.add(t, first[i], 1)
		}
		q.add(t, "next", 1)
		q.add(t, "later", 1)
		q.expect(t, first...)
		q.end("a")
		q.end("a") // again, without effect
		q.expect(t, append(slices.Clone(first), "next")...)
		q.end("b")
		q.expect(t, append(slices.Clone(first), "next", "later")...)
	})
}

func TestLargeFillsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.add(t, "huge", 100*fillBytes)
		q.add(t, "small", 1<<20)
		q.add(t, "huge too", 100*fillBytes)
		q.add(t, "small too", 1<<20)
		q.add(t, "third", 100*fillBytes)
		q.expect(t, "huge", "small", "huge too", "small too")
		q.end("small")
		q.end("small too")
		q.expect(t, "huge", "small", "huge too", "small too")
		q.end("huge")
		q.expect(t, "huge", "small", "huge too", "small too", "third")
	})
}

func TestFillThatHangsOrIsGivenUpKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for i := range maxFills {
			q.add(t, string(rune('a'+i)), 1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := q.fills.enter(ctx, 1, "a")
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; err == nil {
			t.Error("a fill that was given up has entered")
		}
		q.add(t, "next", 1)
		if n := q.count(); n != maxFills {
			t.Errorf("%d have entered", n)
		}
		time.Sleep(fillPlaceFor)
		if n := q.count(); n != maxFills+1 {
			t.Errorf("%d have entered", n)
		}
		for _, leave := range q.leave {
			leave()
		}
		if _, n, _ := q.fills.Queue.Numbers(); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}

func TestUsersTakeTurnsToFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		const most = maxFills * 3 / 4 // places of one user
		var first []string
		for i := range 2 * maxFills {
			name := fmt.Sprint("a", i)
			if i < most {
				first = append(first, name)
			}
			q.start(t, name, "a", 1)
		}
		for _, name := range []string{"b0", "b1", "b2", "b3"} { // the places that a leaves to others
			q.start(t, name, "b", 1)
		}
		first = append(first, "b0", "b1", "b2")
		q.expect(t, first...)
		q.end("a0")
		q.expect(t, append(first, "b3")...)
	})
}

// Otherwise a few apiservers that fail would use up all places.
func TestEveryFillGivesItsPlaceBack(t *testing.T) {
	d := fake.ConfigMaps
	for name, steps := range map[string][]step{
		"in sync":               {{"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"a list instead":        {{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}, {"page", d.PageBody("10", "")}},
		"failed, then in sync":  {{"watchlist", fake.Refuse(http.StatusInternalServerError)}, {"page", fake.Refuse(http.StatusInternalServerError)}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"cut, then in sync":     {{"watchlist", d.Cut(d.Added("a/x@3"))}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"withdrawn and rebuilt": {{"watchlist", d.Ended(d.InitialEventsEnd("10"), d.Error(http.StatusGone))}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"resumed": {
			{"watchlist", d.Cut(d.InitialEventsEnd("10"))}, {"watch 10", d.Stream()},
			{"metadata", d.PageBody("20", "")},
		},
		"not served": {{"watchlist", fake.Refuse(http.StatusNotFound)}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, d, Options{}, steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(fillPlaceFor / 2) // less than after which a place is taken back
				e.CheckPlayed(t)
				for _, f := range []*fills{&e.registry.descriptions, &e.registry.fills} {
					if _, running, waiting := f.Numbers(); running != 0 || waiting != 0 {
						t.Errorf("%d places are taken, %d fills wait", running, waiting)
					}
				}
			})
		})
	}
}

// After a reconnection the apiserver would otherwise list the metadata of everything at once.
func TestResumedStoresTakeTurnsToBeCompared(t *testing.T) {
	d := fake.ConfigMaps
	resumed := []step{
		{"watchlist", d.EndedAfter(5*time.Second, d.InitialEventsEnd("10"))}, {"watch 10", d.Stream()},
	}
	run(t, d, Options{}, append(resumed, step{"metadata", d.PageBody("20", "")}), func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		var leave func()
		for i := range maxFills {
			var err error
			if leave, err = e.registry.fills.enter(t.Context(), 0, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		pass(fillPlaceFor / 2)
		if _, _, n := e.registry.fills.Queue.Numbers(); n != 1 {
			t.Errorf("%d wait", n)
		}
		leave()
		pass(time.Second)
		e.CheckPlayed(t)
		e.check(t, 20)
	})
}
