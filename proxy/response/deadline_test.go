package response

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// client is a ResponseWriter whose writes take a while, and fail once a deadline in the past is set.
type client struct {
	http.ResponseWriter
	takes     time.Duration
	cut       chan struct{}
	deadlines int
}

var errCut = errors.New("cut")

func (c *client) Write(p []byte) (int, error) {
	t := time.NewTimer(c.takes)
	defer t.Stop()
	select {
	case <-t.C:
		return len(p), nil
	case <-c.cut:
		return 0, errCut
	}
}

func (c *client) Flush() {}

func (c *client) SetWriteDeadline(time.Time) error {
	c.deadlines++
	close(c.cut)
	return nil
}

func TestWriteThatIsNotAcceptedFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{takes: time.Hour, cut: make(chan struct{})}
		d := NewWriteDeadline(w)
		start := time.Now()
		for range 2 { // later writes fail at once
			if _, err := d.Write(w, []byte("x")); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != WriteTimeout || !d.Expired() {
			t.Errorf("failed after %v, expired: %v", took, d.Expired())
		}
	})
}

func TestEachPieceRenewsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{takes: WriteTimeout - 1, cut: make(chan struct{})}
		d := NewWriteDeadline(w)
		const pieces = 3
		start := time.Now()
		if n, err := d.Write(w, make([]byte, pieces*writePiece)); n != pieces*writePiece || err != nil {
			t.Fatal(n, err)
		}
		if took := time.Since(start); took != pieces*w.takes {
			t.Errorf("took %v", took)
		}
	})
}

func TestNoDeadlineRemainsBetweenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{cut: make(chan struct{})}
		d := NewWriteDeadline(w)
		for range 3 {
			if _, err := d.Write(w, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // a quiet watch
		}
		synctest.Wait()
		if w.deadlines != 0 || d.Expired() || d.WasBlocked() {
			t.Errorf("%d deadlines were set", w.deadlines)
		}
	})
}

// The timer of the first write is still set when the second one begins.
func TestLaterWriteHasTheWholeTime(t *testing.T) {
	for _, pause := range []time.Duration{0, 1, time.Second, WriteTimeout - 1, WriteTimeout, WriteTimeout + 1} {
		synctest.Test(t, func(t *testing.T) {
			w := &client{cut: make(chan struct{})}
			d := NewWriteDeadline(w)
			defer d.Stop()
			if _, err := d.Write(w, []byte("x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
			w.takes = time.Hour
			start := time.Now()
			_, err := d.Write(w, []byte("x"))
			if took := time.Since(start); took != WriteTimeout || !errors.Is(err, errCut) {
				t.Errorf("after a pause of %v it ended after %v: %v", pause, took, err)
			}
		})
	}
}

// EndWithin must not give a blocked write more time than it has.
func TestEndWithinGivesNoMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{takes: time.Hour, cut: make(chan struct{})}
		d := NewWriteDeadline(w)
		defer d.Stop()
		time.AfterFunc(WriteTimeout/2, func() { d.EndWithin(WriteTimeout) })
		start := time.Now()
		_, err := d.Write(w, []byte("x"))
		if took := time.Since(start); took != WriteTimeout || !errors.Is(err, errCut) {
			t.Errorf("ended after %v: %v", took, err)
		}
	})
}

func TestStoppedDeadlineKeepsNothing(t *testing.T) {
	w := &client{cut: make(chan struct{})}
	d := NewWriteDeadline(w)
	if _, err := d.Write(w, []byte("x")); err != nil {
		t.Fatal(err)
	}
	d.Stop()
	if d.timer.Stop() {
		t.Error("the timer is still set")
	}
}

func TestEndWithinBoundsTheCurrentAndAllLaterWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{takes: 2 * time.Second, cut: make(chan struct{})}
		d := NewWriteDeadline(w)
		start := time.Now()
		time.AfterFunc(time.Second, func() {
			d.EndWithin(4 * time.Second)
		})
		var err error
		for range 5 {
			if _, err = d.Write(w, []byte("x")); err != nil {
				break
			}
		}
		if took := time.Since(start); took != 5*time.Second || !errors.Is(err, errCut) {
			t.Errorf("ended after %v: %v", took, err)
		}
		if !d.WasBlocked() || d.WasBlocked() {
			t.Error("writes of two seconds have not blocked, or again")
		}
	})
}
