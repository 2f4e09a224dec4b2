package serve

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Watches that were opened together must not ask the apiserver together.
func TestRechecksAreSpreadWithinTheirInterval(t *testing.T) {
	var every atomic.Int64
	every.Store(int64(time.Minute))
	a := &accessRecheck{every: &every}
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		wait := a.wait()
		least, most = min(least, wait), max(most, wait)
	}
	if least < 30*time.Second || most > time.Minute || most-least < 15*time.Second {
		t.Errorf("waits from %v to %v", least, most)
	}
}

func TestTimerFiresForWhatIsDueFirst(t *testing.T) {
	for _, row := range []struct {
		name     string
		lifetime time.Duration
		set      func(*watchTimer)
		want     time.Duration
	}{
		{"a bookmark every minute", time.Hour, func(*watchTimer) {}, bookmarkEvery},
		{"a bookmark before the end", 30 * time.Second, func(*watchTimer) {}, 28 * time.Second},
		{"the end of a short watch", time.Second, func(*watchTimer) {}, time.Second},
		{"a bookmark again", time.Hour, func(t *watchTimer) { t.scheduleBookmark(time.Now(), false) }, bookmarkRetry},
		{"a drain at once", time.Hour, func(t *watchTimer) { t.endWithin(0) }, shortestWatch},
		{"a drain of an old watch", time.Hour, func(t *watchTimer) { time.Sleep(time.Minute); t.endWithin(0) }, time.Minute},
		{"a drain that is later than the end", time.Second, func(t *watchTimer) { t.endWithin(24 * time.Hour * 365) }, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				called := newAttention()
				timer := newWatchTimer(row.lifetime, called)
				defer timer.Stop()
				row.set(timer)
				<-called
				if took := time.Since(start); took != row.want {
					t.Errorf("after %v, want %v", took, row.want)
				}
			})
		})
	}
}
