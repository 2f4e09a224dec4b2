package list_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

const (
	manyFoos  = 5000 // more than a response may have without turns
	longBytes = 1 << 20
	foosPath  = "/apis/ex.io/v1/foos"
)

func TestLongResponsesWaitForTheirTurnAndShortOnesDoNot(t *testing.T) {
	gzip := http.Header{"Accept-Encoding": {"gzip"}}
	for _, tt := range []struct {
		name, url string
		header    http.Header
		waits     bool
	}{
		{"list", foosPath + "?resourceVersion=0", nil, true},
		{"compressed list", foosPath + "?resourceVersion=0", gzip, true},
		{"list by label", foosPath + "?resourceVersion=0&labelSelector=even=true", nil, true},
		{"compressed list by label", foosPath + "?resourceVersion=0&labelSelector=even=true", gzip, true},
		{"list by label that selects nothing", foosPath + "?resourceVersion=0&labelSelector=even=perhaps", nil, true},
		{"page", foosPath + "?resourceVersion=5000&resourceVersionMatch=Exact&limit=10", nil, false},
		{"get", "/apis/ex.io/v1/namespaces/ns/foos/f000001?resourceVersion=0", nil, false},
		{"watch", foosPath + "?watch=1&resourceVersion=5000", nil, false},
		{"watch with initial events", foosPath + "?watch=1&resourceVersion=0", nil, true},
		{"streaming list", foosPath + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil, true},
		{"watch with selected initial events", foosPath + "?watch=1&resourceVersion=0&labelSelector=even=perhaps", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cpu, encoded := flowcontrol.NewCPU(1), tree.NewBudget(1<<20)
				e := handlertest.New(t, servetest.Foos(manyFoos), serve.Options{CPU: cpu, Encoded: encoded})
				e.Get(foosPath+"?resourceVersion=0&labelSelector=even=true", nil) // the next selection memoizes
				before := encoded.Used()
				busy := cpu.Work(t.Context(), limits.Caller{Group: "user:other"}, longBytes)
				if err := busy.Next(); err != nil {
					t.Fatal(err)
				}
				defer busy.Rest()
				c := e.Watch(tt.url, tt.header)
				e.Apply(cache.Modified, servetest.Foo(2, manyFoos+1))
				synctest.Wait()
				if _, _, waiting := cpu.Numbers(); waiting != 0 != tt.waits {
					t.Errorf("%d wait", waiting)
				}
				if tt.waits && encoded.Used() != before {
					t.Error("it has selected or encoded something already")
				}
				if answered := len(c.TakeBytes()) > 0; answered == tt.waits {
					t.Errorf("answered: %v", answered)
				}
				busy.Rest()
				synctest.Wait()
				c.Leave()
			})
		})
	}
}

func TestClientThatReadsNothingHoldsUpNoLongResponse(t *testing.T) {
	for _, url := range []string{foosPath + "?resourceVersion=0", foosPath + "?watch=1&resourceVersion=0"} {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.Foos(manyFoos), serve.Options{CPU: flowcontrol.NewCPU(1)})
			stalled := &servetest.WatchClient{Expired: make(chan struct{}), Stalled: make(chan struct{}), Done: make(chan struct{})}
			go func() {
				defer close(stalled.Done)
				defer func() { _ = recover() }()
				e.Handler.ServeHTTP(stalled, e.Request(url, nil))
			}()
			synctest.Wait()
			start := time.Now()
			e.Get(foosPath+"?resourceVersion=0", nil)
			if took := time.Since(start); took > 10*time.Millisecond {
				t.Errorf("%s: another list took %v", url, took)
			}
			<-stalled.Done
		})
	}
}
