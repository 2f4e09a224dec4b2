package serve

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a response writer that blocks while it is told to, until a
// deadline in the past is set.
type deadlines struct {
	http.ResponseWriter
	blocked  bool
	cut      chan struct{}
	deadline atomic.Int64
}

var errCut = errors.New("cut")

func (d *deadlines) Write(p []byte) (int, error) {
	if d.blocked {
		<-d.cut
		return 0, errCut
	}
	return len(p), nil
}

func (d *deadlines) Flush() {}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.deadline.Add(1)
	if t.Before(time.Now()) {
		close(d.cut)
	}
	return nil
}

func TestClientThatTakesNothingIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{blocked: true, cut: make(chan struct{})}
		c := patient(w)
		start := time.Now()
		if err := c.write(w, []byte("x")); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		if took := time.Since(start); took != writeTimeout {
			t.Errorf("cut after %v", took)
		}
		if err := c.write(w, []byte("x")); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	})
}

// A quiet client is not a slow one: between writes no deadline is left behind.
func TestQuietClientIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{cut: make(chan struct{})}
		c := patient(w)
		for range 3 {
			if err := c.write(w, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := c.flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		synctest.Wait()
		if n := w.deadline.Load(); n != 0 {
			t.Errorf("%d deadlines were set", n)
		}
	})
}
