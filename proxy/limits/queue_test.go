package limits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	jane = Caller{Group: "jane"}
	joe  = Caller{Group: "joe"}
	node = Caller{Group: "node", Reserved: true}
)

func TestAQueueDividesItsPlaces(t *testing.T) {
	type asks struct {
		by      Caller
		n       int
		entered bool
	}
	for law, row := range map[string]struct {
		places, reserved int
		asks             []asks
	}{
		"no more than there are":                                 {4, 0, []asks{{jane, 3, true}, {joe, 2, false}, {joe, 1, true}}},
		"one for more than there are gets all":                   {4, 0, []asks{{jane, 9, true}, {joe, 1, false}}},
		"a group leaves a quarter to others":                     {8, 0, []asks{{jane, 5, true}, {jane, 1, true}, {jane, 1, false}, {joe, 2, true}}},
		"the first request of a group may take more":             {4, 0, []asks{{jane, 4, true}}},
		"one of few places is not left":                          {2, 0, []asks{{jane, 1, true}, {jane, 1, true}}},
		"system callers have places that others cannot take":     {4, 1, []asks{{jane, 3, true}, {joe, 1, false}, {node, 1, true}, {node, 1, false}}},
		"system callers take other places, too":                  {4, 1, []asks{{node, 1, true}, {node, 1, true}, {jane, 2, true}}},
		"a system caller for more than the reserve takes others": {8, 2, []asks{{node, 3, true}, {jane, 3, true}, {node, 2, true}}},
	} {
		t.Run(law, func(t *testing.T) {
			q := NewQueue(row.places, row.reserved)
			var leaves []func()
			for i, a := range row.asks {
				leave, entered := q.TryEnter(a.by, a.n)
				if entered != a.entered {
					t.Errorf("request %d has entered: %v", i, entered)
				}
				if entered {
					leaves = append(leaves, leave)
				}
			}
			for _, leave := range leaves {
				leave()
				leave() // again, without effect
			}
			expectEmpty(t, q)
		})
	}
}

func expectEmpty(t *testing.T, q *Queue) {
	t.Helper()
	if _, taken, waiting := q.Numbers(); taken != 0 || waiting != 0 || len(q.groups)+len(q.others)+len(q.system) != 0 {
		t.Errorf("%d are taken, %d wait, %d groups", taken, waiting, len(q.groups))
	}
}

// order lets callers wait behind one that has the only place, one after the other, and returns in which order they enter.
func order(t *testing.T, q *Queue, all ...Caller) (order []string) {
	t.Helper()
	leave, err := q.Enter(t.Context(), Caller{Group: "first"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var waiting sync.WaitGroup
	for i, c := range all {
		waiting.Go(func() {
			leave, err := q.Enter(t.Context(), c, 1)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, fmt.Sprint(c.Group, i))
			mu.Unlock()
			leave()
		})
		synctest.Wait()
	}
	leave()
	waiting.Wait()
	expectEmpty(t, q)
	return order
}

func TestEqualGroupsAlternateHoweverManyRequestsTheyHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := order(t, NewQueue(1, 0), jane, jane, joe, jane); !slices.Equal(got, []string{"jane0", "joe2", "jane1", "jane3"}) {
			t.Errorf("%v", got)
		}
	})
}

func TestTheGroupWithTheFewestPlacesComesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8, 0)
		for _, c := range []Caller{jane, jane, jane, joe} {
			if _, entered := q.TryEnter(c, 1); !entered {
				t.Fatal("no place")
			}
		}
		rest, _ := q.TryEnter(Caller{Group: "rest"}, 4)
		entered := make(chan string, 3)
		for _, c := range []Caller{jane, joe, node} {
			go func() {
				if _, err := q.Enter(t.Context(), c, 4); err == nil {
					entered <- c.Group
				}
			}()
			synctest.Wait()
		}
		rest()
		if first := <-entered; first != "node" {
			t.Errorf("%s comes first", first)
		}
	})
}

// Else a stream of short requests would keep out one that needs many places.
func TestARequestForManyPlacesIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(4, 0)
		leave, _ := q.TryEnter(Caller{Group: "first"}, 3)
		wide := make(chan func(), 1)
		go func() {
			leave, _ := q.Enter(t.Context(), jane, 2)
			wide <- leave
		}()
		synctest.Wait()
		if _, entered := q.TryEnter(joe, 1); entered {
			t.Error("a later one has overtaken it")
		}
		leave()
		(<-wide)()
		expectEmpty(t, q)
	})
}

func TestTheWaitEndsWithTheContext(t *testing.T) {
	q := NewQueue(1, 0)
	leave, _ := q.TryEnter(jane, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Enter(ctx, joe, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	leave()
	expectEmpty(t, q)
}

func TestMorePlacesServeThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 0)
		first, _ := q.TryEnter(jane, 1)
		entered := make(chan func())
		go func() {
			leave, _ := q.Enter(t.Context(), joe, 1)
			entered <- leave
		}()
		synctest.Wait()
		q.SetPlaces(2, 0)
		(<-entered)()
		first()
		expectEmpty(t, q)
	})
}

// One group leaves room among those that wait, and all together have an end.
func TestTheNumberThatWaitIsBounded(t *testing.T) {
	q := NewQueue(1, 0)
	if _, entered := q.TryEnter(Caller{Group: "first"}, 1); !entered {
		t.Fatal("no place")
	}
	wait := func(c Caller) (n int) {
		for {
			if _, err := q.enter(c, 1); err != nil {
				return n
			}
			n++
		}
	}
	if n := wait(jane); n < mostWaiting*3/4 || n > mostWaiting*3/4+1 {
		t.Errorf("%d of one group wait", n)
	}
	for i := 0; ; i++ {
		if wait(Caller{Group: fmt.Sprint(i)}) == 0 {
			break
		}
	}
	if _, _, waiting := q.Numbers(); waiting > mostWaiting {
		t.Errorf("%d wait", waiting)
	}
}

func TestAQueueKeepsItsPlacesAndServesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, reserved, requests = 8, 2, 1000
		q := NewQueue(places, reserved)
		var mu sync.Mutex
		taken, common, gone := 0, 0, 0
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				time.Sleep(time.Duration(i/(2*places)) * time.Second)
				c, n := Caller{Group: fmt.Sprint(rand.N(5)), Reserved: rand.N(4) == 0}, 1+rand.N(3)
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(3*time.Second))
				defer cancel()
				leave, err := q.Enter(ctx, c, n)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					gone++
					return
				}
				change := func(by int) {
					if taken += by; !c.Reserved {
						common += by
					}
					if taken > places || common > places-reserved {
						t.Errorf("%d places are taken, %d of them by others than system callers", taken, common)
					}
				}
				change(n)
				mu.Unlock()
				time.Sleep(rand.N(time.Second))
				mu.Lock()
				change(-n)
				leave()
			})
		}
		all.Wait()
		expectEmpty(t, q)
		if gone == 0 || gone == requests {
			t.Errorf("%d of %d got no place", gone, requests)
		}
	})
}
