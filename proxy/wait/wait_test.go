package wait

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWaitEndsWithItsEventOrAnythingElse(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		ctx          context.Context
		event, other <-chan struct{}
		want         bool
	}{{t.Context(), closed, nil, true}, {t.Context(), nil, closed, false}, {ended, nil, nil, false}} {
		if got := For(row.ctx, row.event, row.other); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	for ends, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), ends)
			defer cancel()
			start := time.Now()
			Pause(ctx, time.Minute)
			if took := time.Since(start); took != want {
				t.Errorf("paused for %v, want %v", took, want)
			}
		})
	}
}
