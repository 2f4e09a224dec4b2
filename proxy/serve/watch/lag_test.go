package watch_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/clients"
	"sluice/proxy/request"
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
		info.Watch = table.Open(clients.WatchFacts{})
		inner.ServeHTTP(w, r)
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
