package watch

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/request"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

func TestTimerFiresForWhatIsDueFirst(t *testing.T) {
	for _, row := range []struct {
		name     string
		lifetime time.Duration
		set      func(*timer)
		want     time.Duration
	}{
		{"a bookmark every minute", time.Hour, func(*timer) {}, bookmarkEvery},
		{"a bookmark before the end", 30 * time.Second, func(*timer) {}, 28 * time.Second},
		{"the end of a short watch", time.Second, func(*timer) {}, time.Second},
		{"a bookmark again", time.Hour, func(t *timer) { t.scheduleBookmark(time.Now(), false) }, bookmarkRetry},
		{"a drain at once", time.Hour, func(t *timer) { t.endWithin(0) }, Shortest},
		{"a drain of an old watch", time.Hour, func(t *timer) { time.Sleep(time.Minute); t.endWithin(0) }, time.Minute},
		{"a drain that is later than the end", time.Second, func(t *timer) { t.endWithin(24 * time.Hour * 365) }, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				called := newWake()
				timer := newTimer(row.lifetime, called)
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

// Columns are sent with the first event only, so a watch cannot announce that they have changed.
func TestWatchOfTablesEndsWhenTheirColumnsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := servetest.New(t, servetest.Tables(t, 3))
		r := e.Request(servetest.FooList+"?watch=1&resourceVersion=3", http.Header{"Accept": {servetest.AsTable}})
		o := plan.Options{Resources: e, Access: e.Access}
		p, err := o.Parse(r, request.From(r.Context()))
		if err == nil {
			err = o.Resolve(r, p, time.Time{})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Access: e.Access, Resources: e, Metrics: NewMetrics(nil, []string{"group", "version", "resource"})}
		s.Set(time.Minute, false)
		c := &servetest.WatchClient{Done: make(chan struct{})}
		a := &fresh.Attempt{Proofs: fresh.NewMetrics(nil).Since(time.Now()), Began: time.Now()}
		from, err := open(r.Context(), p, a)
		if err != nil {
			t.Fatal(err)
		}
		l := s.newWatch(c, r, a, from)
		changed := make(chan struct{})
		l.columnsChanged = changed
		go func() {
			defer close(c.Done)
			l.run()
		}()
		synctest.Wait()
		if c.Ended() {
			t.Fatal("the watch has ended")
		}
		close(changed)
		synctest.Wait()
		if !c.Ended() {
			t.Error("the watch goes on")
		}
	})
}
