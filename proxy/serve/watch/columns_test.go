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
