package serve

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/response"
	"sluice/test/support/servetest"
)

// updateAll replaces the objects of the store, an hour later, so that the history has forgotten the
// ones before.
func (e *env) updateAll(objects int) {
	for round := range 2 {
		at := time.Now().Add(time.Duration(round+1) * 2 * time.Hour)
		for i := range objects {
			version := e.Resource.Store.Streamed() + 1
			if err := e.Writer().Apply(cache.Modified, servetest.Foo(i, version), at); err != nil {
				e.Fatal(err)
			}
		}
	}
}

// A list that is read slowly keeps a state alive that nobody else may have.
func TestSlowListEndsAfterAMinute(t *testing.T) {
	for write, ends := range map[time.Duration]bool{20 * time.Second: true, time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, servetest.Foos(5000), Options{})
			r := e.Request("/apis/ex.io/v1/foos?resourceVersion=0", nil)
			c := &servetest.WatchClient{Expired: make(chan struct{}), Slow: write}
			aborted := make(chan any)
			start := time.Now()
			go func() {
				defer func() { aborted <- recover() }()
				e.handler.ServeHTTP(c, r)
			}()
			failure := <-aborted
			if took := time.Since(start); (failure == http.ErrAbortHandler) != ends || took > response.ResponseTimeout {
				t.Errorf("with %v for each piece: %v after %v", write, failure, took)
			}
		})
	}
}

// A watch whose client does not read holds one event, not a batch of them: what the history forgets
// meanwhile is gone for it.
func TestStalledWatchHoldsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, servetest.Foos(3), Options{})
		c := e.Watch(servetest.FooWatch+"resourceVersion=3", nil)
		c.Stall()
		for i := range 50 {
			e.Apply(cache.Added, servetest.Foo(10+i, uint64(10+i)))
		}
		time.Sleep(5 * time.Second)
		e.updateAll(3)
		c.Resume()
		<-c.Done
		if got := c.Take(); len(got) == 0 || len(got) > 2 {
			t.Errorf("%d events after a stall", len(got))
		}
	})
}

// The events of a store that has ended keep it in memory: they must be read in time, all together.
func TestEndedStoreIsReadToItsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, servetest.Foos(3), Options{})
		c := e.Watch(servetest.FooWatch+"resourceVersion=3", nil)
		c.Slow = 3 * time.Second
		for i := range 400 {
			e.Apply(cache.Added, servetest.Foo(10+i, uint64(10+i)))
		}
		e.Writer().Close()
		start := time.Now()
		<-c.Done
		if took := time.Since(start); took > response.WriteTimeout+10*c.Slow { // the stall is noticed after some writes
			t.Errorf("read for %v", took)
		}
	})
}
