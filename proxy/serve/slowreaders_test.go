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
