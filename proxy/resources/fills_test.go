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

// add adds a fill that a user has started and so many others want.
func (q *queue) add(t *testing.T, name string, bytes int64, wanted int) {
	d := demandOf(Reader{User: name, Whole: true})
	for i := range wanted - 1 {
		d.note(Reader{User: fmt.Sprint(name, i), Whole: true}, time.Now())
	}
	q.start(t, name, name, bytes, d)
}

func demandOf(readers ...Reader) *demand {
	d := &demand{}
	for _, r := range readers {
		d.note(r, time.Now())
	}
	return d
}

// start adds a fill that a user has started.
func (q *queue) start(t *testing.T, name, user string, bytes int64, d *demand) {
	go func() {
		leave, err := q.fills.enter(t.Context(), bytes, user, d)
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

func TestFillsAreBoundedAndTheMostWantedComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		var first []string
		for i := range maxFills {
			first = append(first, string(rune('a'+i)))
			q.add(t, first[i], 1, 1)
		}
		q.add(t, "little wanted", 1, 1)
		q.add(t, "wanted", 1, 5)
		q.add(t, "as much, later", 1, 5)
		q.expect(t, first...)
		q.end("a")
		q.end("a") // again, without effect
		q.expect(t, append(slices.Clone(first), "wanted")...)
		q.end("b")
		q.end("c")
		q.expect(t, append(slices.Clone(first), "wanted", "as much, later", "little wanted")...)
	})
}

func TestLargeFillsWaitForEachOtherButNotSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		q.add(t, "huge", 10*maxFillBytes, 1)
		q.add(t, "small", 1<<20, 1)
		q.add(t, "huge too", 10*maxFillBytes, 9)
		q.add(t, "small too", 1<<20, 1)
		q.expect(t, "huge", "small", "small too")
		q.end("small")
		q.end("small too")
		q.expect(t, "huge", "small", "small too", "huge too")
	})
}

func TestFillingIsToldOfTheFirstAndTheLastFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		var told []bool // guarded by fills.mu
		q.fills.filling = func(filling bool) { told = append(told, filling) }
		expect := func(want ...bool) {
			t.Helper()
			synctest.Wait()
			q.fills.mu.Lock()
			defer q.fills.mu.Unlock()
			if !slices.Equal(told, want) {
				t.Errorf("told %v, want %v", told, want)
			}
		}
		q.add(t, "huge", maxFillBytes/2, 1)
		q.add(t, "huge too", maxFillBytes/2, 1)
		q.add(t, "waits", maxFillBytes/2, 1)
		q.end("huge")
		q.end("huge too")
		expect(true)
		time.Sleep(time.Second)
		q.end("waits")
		q.add(t, "later", 1, 1)
		expect(true, false)
		time.Sleep(fillingRest * time.Second)
		expect(true, false, true)
	})
}

// A conversion webhook that does not answer makes fills hang, which are repeated.
func TestFillsThatHangAreToldASixthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var since time.Time
		var total time.Duration
		f := fills{filling: func(filling bool) {
			mu.Lock()
			defer mu.Unlock()
			if !filling {
				total += time.Since(since)
			}
			since = time.Now()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Second)
				for ctx.Err() == nil {
					leave, err := f.enter(ctx, 1, "jane", demandOf(Reader{User: "jane", Whole: true}))
					if err == nil {
						time.Sleep(time.Minute)
					}
					leave()
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		if total < 5*time.Minute || total > 11*time.Minute {
			t.Errorf("told for %s of an hour", total)
		}
	})
}

func TestFillThatHangsOrIsGivenUpKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		for i := range maxFills {
			q.add(t, string(rune('a'+i)), 1, 1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := q.fills.enter(ctx, 1, "a", demandOf(Reader{User: "a", Whole: true}))
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; err == nil {
			t.Error("a fill that was given up has entered")
		}
		q.add(t, "next", 1, 1)
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
		if n := len(q.fills.running); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}

func TestUsersTakeTurnsToFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		var first []string
		for i := range 2 * maxFills {
			name := fmt.Sprint("a", i)
			if i < userFills {
				first = append(first, name)
			}
			q.start(t, name, "a", 1, demandOf(Reader{User: "a", Whole: true}))
		}
		for i := userFills; i < maxFills; i++ { // places that a user leaves to others
			name := fmt.Sprint("c", i)
			first = append(first, name)
			q.start(t, name, "c", 1, demandOf(Reader{User: "c", Whole: true}))
		}
		q.start(t, "b0", "b", 1, demandOf(Reader{User: "b", Whole: true}))
		q.start(t, "of both", "a", 1, demandOf(Reader{User: "a", Whole: true}, Reader{User: "b", Whole: true}))
		q.end("a0")
		q.end("a1")
		q.end("a2")
		q.expect(t, append(slices.Clone(first), "of both", "b0", fmt.Sprint("a", userFills))...)
	})
}

// Somebody who may read one namespace must not hold back the stores of others.
func TestFillsForOneReaderOfAPartComeLastAndTakeHalfOfThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{leave: map[string]func(){}}
		part := Reader{User: "part"}
		var first []string
		for i := range maxFills {
			name := fmt.Sprint("part", i)
			if i < maxFills/solePart {
				first = append(first, name)
			}
			q.start(t, name, "part", 1<<20, demandOf(part))
		}
		for i := range maxFills/solePart + 1 {
			name := fmt.Sprint("whole", i)
			if i < maxFills/solePart {
				first = append(first, name)
			}
			q.start(t, name, "whole", 1<<20, demandOf(Reader{User: "whole", Whole: true}))
		}
		q.start(t, "two", "part", 1, demandOf(part, Reader{User: "other"}))
		q.expect(t, first...)
		q.end("part0")
		q.end("part1")
		q.end("part2")
		q.expect(t, append(first, "whole8", "two", "part8")...)
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
					if len(f.running) != 0 || len(f.waiting) != 0 {
						t.Errorf("%d places are taken, %d fills wait", len(f.running), len(f.waiting))
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
		for range maxFills {
			var err error
			if leave, err = e.registry.fills.enter(t.Context(), 0, fmt.Sprint(len(e.registry.fills.running)), demandOf()); err != nil {
				t.Fatal(err)
			}
		}
		pass(fillPlaceFor / 2)
		if n := len(e.registry.fills.waiting); n != 1 {
			t.Errorf("%d wait", n)
		}
		leave()
		pass(time.Second)
		e.CheckPlayed(t)
		e.check(t, 20)
	})
}
