package serve

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a ResponseWriter whose writes block, if blocked is set, until a deadline in the past is
// set.
type deadlines struct {
	http.ResponseWriter
	blocked bool
	cut     chan struct{}
	count   atomic.Int64
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
	d.count.Add(1)
	if t.Before(time.Now()) {
		close(d.cut)
	}
	return nil
}

func TestWriteThatIsNotAcceptedFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{blocked: true, cut: make(chan struct{})}
		c := newDeadlineWriter(w)
		start := time.Now()
		if err := c.write(w, []byte("x")); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		if took := time.Since(start); took != writeTimeout {
			t.Errorf("the write failed after %v", took)
		}
		if err := c.write(w, []byte("x")); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	})
}

func TestNoDeadlineRemainsBetweenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{cut: make(chan struct{})}
		c := newDeadlineWriter(w)
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
		if n := w.count.Load(); n != 0 {
			t.Errorf("%d deadlines were set", n)
		}
	})
}
