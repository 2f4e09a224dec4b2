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

	"sluice/proxy/limits"
	"sluice/proxy/response"
)

// long is more than a response may have without a place.
const long = ShortWork + 1

func caller(name string) limits.Caller { return limits.Caller{Group: name} }

// work makes steps of a turn each until ctx ends, and returns how many. In the virtual time of a bubble a
// step takes exactly a turn.
func work(ctx context.Context, w *Work) (steps int) {
	defer w.Rest()
	for w.Next() == nil && ctx.Err() == nil {
		time.Sleep(turn)
		steps++
	}
	return steps
}

// expectEmpty fails the test unless nothing works or waits.
func expectEmpty(t *testing.T, c *CPU) {
	t.Helper()
	if _, working, waiting := c.Numbers(); working != 0 || waiting != 0 {
		t.Errorf("%d work, %d wait", working, waiting)
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
		for name, responses := range map[string]int{"greedy": 100, "modest": 2, "one": 2} {
			for range responses {
				all.Go(func() {
					n := work(ctx, c.Work(ctx, caller(name), long))
					mu.Lock()
					defer mu.Unlock()
					steps[name] += n
				})
			}
		}
		all.Wait()
		for name, n := range steps {
			if n < 380 || n > 420 { // a third of 600 turns on 2 places
				t.Errorf("%s got %d turns: %v", name, n, steps)
			}
		}
		expectEmpty(t, c)
	})
}

func TestShortResponsesNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		busy := c.Work(t.Context(), caller("busy"), long)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		w, out := c.Work(t.Context(), caller("short"), ShortWork), httptest.NewRecorder()
		client := response.NewWriteDeadline(out)
		if err := w.Next(); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(client, out, make([]byte, ShortWork)); err != nil || out.Body.Len() != ShortWork {
			t.Fatalf("%d bytes, %v", out.Body.Len(), err)
		}
		// What comes after is long.
		done := make(chan error, 1)
		go func() { done <- w.Next() }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("a long response did not wait for its place")
		}
		busy.Rest()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.Rest() // a watch that has been quiet is short again
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		if err := w.Next(); err != nil {
			t.Fatal(err)
		}
		busy.Rest()
		w.Rest()
		expectEmpty(t, c)
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

func TestNoResponseHasAPlaceWhileItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCPU(1)
		slow := c.Work(t.Context(), caller("slow"), long)
		out := &blockedWriter{ResponseWriter: httptest.NewRecorder(), closed: make(chan struct{})}
		if err := slow.Next(); err != nil {
			t.Fatal(err)
		}
		wrote := make(chan error, 1)
		go func() {
			err := slow.Write(response.NewWriteDeadline(out), out, []byte("x"))
			if err == nil {
				err = slow.Next()
			}
			wrote <- err
		}()
		other := c.Work(t.Context(), caller("other"), long)
		if err := other.Next(); err != nil { // else the bubble deadlocks
			t.Fatal(err)
		}
		close(out.closed)
		synctest.Wait()
		if len(wrote) > 0 {
			t.Error("the response went on without a place")
		}
		other.Rest()
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		slow.Rest()
		expectEmpty(t, c)
	})
}

func TestWithoutACPUNothingWaits(t *testing.T) {
	var c *CPU
	w, out := c.Work(t.Context(), caller("user"), long), httptest.NewRecorder()
	if err := w.Next(); err != nil {
		t.Error(err)
	}
	if err := w.Write(response.NewWriteDeadline(out), out, make([]byte, 3*workPiece)); err != nil || out.Body.Len() != 3*workPiece {
		t.Error(err)
	}
	w.Rest()
}
