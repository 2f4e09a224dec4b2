package watch_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/cache"
	"sluice/proxy/clients"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// A watch lags by the events of its scope that its client has not taken, those included that are being written.
func TestLagIsWhatTheClientHasNotTaken(t *testing.T) {
	for name, url := range map[string]string{
		"from a version":      servetest.FooWatch + servetest.FromThree,
		"with initial events": servetest.FooWatch + "&resourceVersion=0",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkLag(t, url) })
		})
	}
}

func checkLag(t *testing.T, url string) {
	e, table := handlertest.New(t, servetest.Foos(3), serve.Options{}), clients.NewTable()
	var info *request.Info
	inner := e.Handler
	e.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info = request.From(r.Context())
		rec := response.RecorderOf(w)
		rec.OnHeader(func(int) { info.Watch = table.Open(clients.WatchFacts{}) })
		inner.ServeHTTP(rec, r)
	})
	c := e.Watch(url, nil)
	check := func(when string, events int, waits float64) {
		t.Helper()
		synctest.Wait()
		w := table.Watches(true).Items[0]
		if w.BehindEvents == nil || *w.BehindEvents != events || *w.WaitingSeconds != waits {
			t.Errorf("%s: %d events, want %d; the first for %v s, want %v", when, *w.BehindEvents, events, *w.WaitingSeconds, waits)
		}
	}
	check("at the beginning", 0, 0)
	e.Apply(cache.Modified, servetest.Foo(0, 4))
	check("while the client reads", 0, 0)
	stalls(e, c)
	for i := range 3 {
		e.Apply(cache.Modified, servetest.Foo(0, uint64(5+i)))
		time.Sleep(time.Second)
	}
	check("while it does not read", 3, 3)
	resumes(e, c)
	check("after it", 0, 0)
	if info.Events != 4 {
		t.Errorf("%d events are counted", info.Events)
	}
	c.Leave()
	<-c.Done
	if w := table.Watches(true).Items[0]; w.BehindEvents != nil {
		t.Errorf("after its end: %d events", *w.BehindEvents)
	}
}

// An event waits from its arrival until its watch has taken it, and not before the watch has begun.
func TestWaitOfEventsEndsWhenTheyAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Metrics: serve.NewMetrics(registry)})
		e.Apply(cache.Modified, servetest.Foo(0, 4))
		time.Sleep(time.Hour)
		c := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		synctest.Wait()
		checkWaits(t, registry, 1, 0)
		c.Stall()
		e.Apply(cache.Modified, servetest.Foo(0, 5)) // is being written
		synctest.Wait()
		for version := range uint64(2) { // are written together
			time.Sleep(time.Second)
			e.Apply(cache.Modified, servetest.Foo(0, 6+version))
		}
		time.Sleep(time.Second)
		checkWaits(t, registry, 1, 0)
		c.Resume()
		synctest.Wait()
		checkWaits(t, registry, 3, 3+2)
		c.Stall()
		e.Apply(cache.Modified, servetest.Foo(0, 8))
		synctest.Wait()
		c.Leave()
		<-c.Done
		checkWaits(t, registry, 3, 3+2)
	})
}

// checkWaits checks how many writes of events are counted, and for how many seconds their first events waited.
func checkWaits(t *testing.T, from prometheus.Gatherer, writes uint64, seconds float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "sluice_watch_events_dispatch_duration_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != writes || h.GetSampleSum() != seconds {
			t.Errorf("%d writes have waited %v s, want %d and %v s", h.GetSampleCount(), h.GetSampleSum(), writes, seconds)
		}
		return
	}
	t.Error("the metric is missing")
}
