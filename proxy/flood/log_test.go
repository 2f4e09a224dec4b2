package flood

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Each second is a period of its own: later events have lines again.
func TestEventsHaveLinesInEachPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		l := New(zap.New(core), "more events", "events")
		for _, events := range []int{50, Lines, 50} {
			for range events {
				if line := l.Check("event", "reason"); line != nil {
					line.Write()
				}
			}
			time.Sleep(Period + time.Millisecond)
		}
		totals := logs.FilterMessage("more events").All()
		if lines := logs.FilterMessage("event").Len(); lines != 3*Lines || len(totals) != 2 {
			t.Fatalf("%d lines of events and %d of totals", lines, len(totals))
		}
		for _, total := range totals {
			if n := total.ContextMap()["events"]; n != int64(50-Lines) {
				t.Errorf("%v events are counted", n)
			}
		}
	})
}
