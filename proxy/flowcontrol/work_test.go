package flowcontrol

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/response"
	"sluice/test/support/spantest"
)

// long is more than a response may have without turns.
const long = ShortWork + 1

// work makes steps of a turn each until ctx ends, and returns how many. In the virtual time of a bubble a
// step takes exactly a turn.
func work(t *testing.T, ctx context.Context, w *Work) (steps int) {
	t.Helper()
	defer w.Rest()
	for w.Next() == nil && ctx.Err() == nil {
		time.Sleep(turn)
		steps++
	}
	return steps
}

// checkEmpty fails the test unless nothing runs or waits.
func checkEmpty(t *testing.T, q *queue.Queue) {
	t.Helper()
	if r, w := q.Numbers(); r != 0 || w != 0 {
		t.Errorf("%d run, %d wait", r, w)
	}
}

func TestUsersGetEqualTurnsHoweverManyResponsesTheyHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(2)
		ctx, cancel := context.WithTimeout(t.Context(), 600*turn)
		defer cancel()
		var mu sync.Mutex
		steps := map[string]int{}
		var all sync.WaitGroup
		for user, responses := range map[string]int{"greedy": 100, "modest": 2, "one": 2} {
			for range responses {
				all.Go(func() {
					n := work(t, ctx, c.Work(ctx, accounts.ByUser(user), long))
					mu.Lock()
					defer mu.Unlock()
					steps[user] += n
				})
			}
		}
		all.Wait()
		for user, n := range steps {
			if n < 380 || n > 420 { // a third of 600 turns on 2 places
				t.Errorf("%s got %d turns: %v", user, n, steps)
			}
		}
		if working, waiting := c.Numbers(); working != 0 || waiting != 0 {
			t.Errorf("%d work, %d wait", working, waiting)
		}
	})
}

func TestOneUserAloneGetsAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(4)
		ctx, cancel := context.WithTimeout(t.Context(), 100*turn)
		defer cancel()
		var mu sync.Mutex
		total := 0
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				n := work(t, ctx, c.Work(ctx, accounts.ByUser("controller"), long))
				mu.Lock()
				defer mu.Unlock()
				total += n
			})
		}
		all.Wait()
		if total < 4*100 {
			t.Errorf("%d turns", total)
		}
	})
}

func TestShortResponsesNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		busy := c.Work(t.Context(), accounts.ByUser("busy"), long)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		w, out := c.Work(t.Context(), accounts.ByUser("short"), ShortWork), httptest.NewRecorder()
		client := response.NewWriteDeadline(out)
		if err := w.Write(client, w.Writer(out), make([]byte, ShortWork)); err != nil || out.Body.Len() != ShortWork {
			t.Fatalf("%d bytes, %v", out.Body.Len(), err)
		}
		// What comes after is long.
		done := make(chan error, 1)
		go func() { done <- w.Write(client, w.Writer(out), []byte("x")) }()
		synctest.Wait()
		if out.Body.Len() != ShortWork {
			t.Error("a long response did not wait for its turn")
		}
		busy.Rest()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.Rest() // a watch that has been quiet is short again
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(client, w.Writer(out), []byte("x")); err != nil {
			t.Fatal(err)
		}
		busy.Rest()
		w.Rest()
	})
}

// A user with a flood of short responses does not keep the processors from others.
func TestShortResponsesOfOneUserBeyondThePlacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(2)
		flood, other := accounts.ByUser("flood"), accounts.ByUser("other")
		var works []*Work
		waits := func(k accounts.Key) bool {
			w := c.Work(t.Context(), k, 1)
			works = append(works, w)
			next := make(chan error, 1)
			go func() { next <- w.Next() }()
			synctest.Wait()
			return len(next) == 0
		}
		busy := []*Work{c.Work(t.Context(), flood, long), c.Work(t.Context(), flood, long)}
		for _, w := range busy {
			if err := w.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if waits(flood) {
				t.Error("a short response waits below the places")
			}
		}
		if !waits(flood) {
			t.Error("a short response beyond the places takes no turn")
		}
		if waits(other) {
			t.Error("a short response of another user waits")
		}
		for _, w := range busy {
			w.Rest()
		}
		synctest.Wait()
		for _, w := range works {
			w.Rest()
			w.Rest()
		}
		checkEmpty(t, c.short)
	})
}

// blockedWriter blocks until it is closed.
type blockedWriter struct {
	http.ResponseWriter
	closed  chan struct{}
	written bytes.Buffer
}

// Write implements io.Writer.
func (b *blockedWriter) Write(p []byte) (int, error) {
	<-b.closed
	return b.written.Write(p)
}

func TestBlockedClientLosesItsPlaceAfterATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		slow := c.Work(t.Context(), accounts.ByUser("slow"), long)
		out := &blockedWriter{ResponseWriter: httptest.NewRecorder(), closed: make(chan struct{})}
		wrote := make(chan error)
		go func() {
			err := slow.Write(response.NewWriteDeadline(out), slow.Writer(out), []byte("x"))
			if err == nil {
				err = slow.Next()
			}
			wrote <- err
		}()
		synctest.Wait()
		other, start := c.Work(t.Context(), accounts.ByUser("other"), long), time.Now()
		if err := other.Next(); err != nil || time.Since(start) != turn {
			t.Fatalf("it waited %v, %v", time.Since(start), err)
		}
		close(out.closed)
		synctest.Wait()
		select {
		case err := <-wrote:
			t.Errorf("the response went on without a place: %v", err)
		default:
		}
		other.Rest()
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		slow.Rest()
		if working, waiting := c.Numbers(); working != 0 || waiting != 0 {
			t.Errorf("%d work, %d wait", working, waiting)
		}
	})
}

// The turn of a compressor can be over between two writes.
func TestWriteAfterTheEndOfTheTurnGivesThePlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		slow := c.Work(t.Context(), accounts.ByUser("slow"), long)
		if err := slow.Next(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * turn)
		out := &blockedWriter{ResponseWriter: httptest.NewRecorder(), closed: make(chan struct{})}
		go func() { _, _ = slow.Writer(out).Write([]byte("x")) }()
		if err := c.Work(t.Context(), accounts.ByUser("other"), long).Next(); err != nil {
			t.Fatal(err)
		}
		close(out.closed)
	})
}

func TestWaitForATurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		busy := c.Work(t.Context(), accounts.ByUser("busy"), long)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		defer busy.Rest()
		ctx, cancel := context.WithCancel(t.Context())
		w := c.Work(ctx, accounts.ByUser("gone"), long)
		time.AfterFunc(time.Hour, cancel)
		start := time.Now()
		if err := w.Next(); err == nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		w.Rest()
		if working, waiting := c.Numbers(); working != 1 || waiting != 0 {
			t.Errorf("%d work, %d wait", working, waiting)
		}
	})
}

func TestMorePlacesStartWaitingWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		busy, waiting := c.Work(t.Context(), accounts.ByUser("user"), long), c.Work(t.Context(), accounts.ByUser("user"), long)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		started := make(chan error)
		go func() { started <- waiting.Next() }()
		synctest.Wait()
		c.SetPlaces(2)
		if err := <-started; err != nil {
			t.Error(err)
		}
		busy.Rest()
		waiting.Rest()
	})
}

func TestWithoutACPUNothingWaits(t *testing.T) {
	var c *CPU
	w, out := c.Work(t.Context(), accounts.ByUser("user"), long), httptest.NewRecorder()
	if err := w.Next(); err != nil || w.Writer(out) != http.ResponseWriter(out) {
		t.Error(err)
	}
	if err := w.Write(response.NewWriteDeadline(out), out, make([]byte, 3*workPiece)); err != nil || out.Body.Len() != 3*workPiece {
		t.Error(err)
	}
	w.Rest()
}

func TestAllWaitsOfAResponseForItsTurnsAreOneSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		ctx, ended := spantest.Sampled(t.Context())
		traced, other := c.Work(ctx, accounts.ByUser("jane"), long), c.Work(t.Context(), accounts.ByUser("joe"), long)
		limited, cancel := context.WithTimeout(t.Context(), 9*turn+turn/2)
		defer cancel()
		var both sync.WaitGroup
		for _, w := range []*Work{traced, other} {
			both.Go(func() { work(t, limited, w) })
		}
		both.Wait()
		if got := ended(); got["turns"] != 1 || len(got) != 1 {
			t.Errorf("spans %v", got)
		}
		alone := c.Work(ctx, accounts.ByUser("jane"), long)
		if err := alone.Next(); err != nil {
			t.Error(err)
		}
		alone.Rest()
		if got := ended(); got["turns"] != 1 {
			t.Errorf("spans %v of a response that has not waited", got)
		}
	})
}
