package serve

import (
	"context"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/accounts"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/test/support/servetest"
)

// withSlowReaders returns an env whose slow readers may hold limit bytes.
func withSlowReaders(t *testing.T, limit int64, objects int) *env {
	t.Helper()
	s := flowcontrol.NewSlowReaders()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	e := newEnv(t, servetest.Foos(objects), Options{SlowReaders: s})
	e.Accounts = accounts.New(accounts.Totals{accounts.Held: limit}, math.MaxInt64)
	return e
}

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

// A list that is read slowly would keep a state alive that nobody else has, for as long as its client wants.
func TestSlowListEndsWhenItHoldsTooMuch(t *testing.T) {
	for _, tt := range []struct {
		name        string
		objects     int
		limit       int64
		write       time.Duration // how long the client takes for each piece
		ends, until time.Duration // 0: the list is read to its end
	}{
		{"too much, and its client accepts nothing", 5000, 1 << 20, 20 * time.Second, time.Second, 3 * time.Second},
		{"too much, and its client accepts a little", 30_000, 1 << 20, 240 * time.Millisecond, 10 * time.Second, 12 * time.Second},
		{"not too much", 5000, 1 << 30, 20 * time.Second, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := withSlowReaders(t, tt.limit, tt.objects)
				r := e.Request("/apis/ex.io/v1/foos?resourceVersion=0", nil)
				c := &servetest.WatchClient{Expired: make(chan struct{}), Slow: tt.write}
				aborted := make(chan any)
				start := time.Now()
				go func() {
					defer func() { aborted <- recover() }()
					e.handler.ServeHTTP(c, r)
				}()
				synctest.Wait()
				e.updateAll(tt.objects)
				failure, outcome := <-aborted, request.From(r.Context()).Outcome
				if took := time.Since(start); tt.ends > 0 {
					if failure != http.ErrAbortHandler || took < tt.ends || took > tt.until || outcome.Reason != flowcontrol.TooSlow {
						t.Errorf("%v after %v, reason %q", failure, took, outcome.Reason)
					}
				} else if failure != nil || took < tt.write {
					t.Errorf("%v after %v", failure, took)
				}
			})
		})
	}
}

func TestSlowInitialEventsEndWithAnErrorWhenTheyHoldTooMuch(t *testing.T) {
	const objects = 20_000
	synctest.Test(t, func(t *testing.T) {
		e := withSlowReaders(t, 1<<20, objects)
		c := &servetest.WatchClient{Expired: make(chan struct{}), Slow: time.Second, Done: make(chan struct{})}
		r := e.Request(servetest.FooWatch+"resourceVersion=0", nil)
		go func() {
			defer close(c.Done)
			e.handler.ServeHTTP(c, r)
		}()
		synctest.Wait()
		e.updateAll(objects)
		<-c.Done
		got := c.Take()
		if last := got[len(got)-1]; last != "ERROR 410" || len(got) > objects || request.From(r.Context()).Outcome.Reason != flowcontrol.TooSlow {
			t.Errorf("%d events, the last is %s", len(got), last)
		}
	})
}

// A watch whose client does not read holds one event, not a batch of them: what the history forgets
// meanwhile is gone for it.
func TestStalledWatchHoldsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withSlowReaders(t, 1<<30, 3)
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
		e := withSlowReaders(t, 1<<30, 3)
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
