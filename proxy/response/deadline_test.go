package response

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a ResponseWriter whose client accepts nothing until a deadline in the past is set.
type stalled struct {
	http.ResponseWriter
	cut chan struct{}
}

var errCut = errors.New("cut")

func (s *stalled) Write([]byte) (int, error) {
	<-s.cut
	return 0, errCut
}

func (s *stalled) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		close(s.cut)
	}
	return nil
}

func TestStalledWriteFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stalled{cut: make(chan struct{})}
		d := NewWriteDeadline(w, time.Minute)
		start := time.Now()
		for range 2 { // later writes fail at once
			d.Arm()
			if _, err := w.Write(nil); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			d.Disarm()
		}
		if took := time.Since(start); took != time.Minute || !d.Expired() {
			t.Errorf("failed after %v, expired: %v", took, d.Expired())
		}
	})
}

func TestEachWriteRenewsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stalled{cut: make(chan struct{})}
		d := NewWriteDeadline(w, time.Minute)
		for range 10 {
			d.Arm()
			time.Sleep(time.Minute - 1) // a slow client
			d.Disarm()
			time.Sleep(time.Hour) // a quiet stream
		}
		if d.Expired() {
			t.Error("a client that accepts each write in time is cut")
		}
	})
}
