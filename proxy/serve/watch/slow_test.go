package watch_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/accounts"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// What the client has not begun to read must be able to leave the memory of the history.
func TestWatchOfABlockedClientHoldsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readers := flowcontrol.NewSlowReaders()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go readers.Run(ctx)
		time.Sleep(time.Second / 2) // so that no write begins or ends when the readers are measured
		e := handlertest.New(t, servetest.Foos(3), serve.Options{SlowReaders: readers})
		c := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		c.Slow = 2 * time.Second
		for version := uint64(4); version < 10; version++ {
			e.Apply(cache.Modified, servetest.Foo(0, version))
		}
		time.Sleep(c.Slow + time.Second) // the first event has been written, and all others were read
		large := servetest.Foo(0, 10)
		large.Data = append(large.Data, bytes.Repeat([]byte(" "), 2<<20)...)
		e.Apply(cache.Modified, large)
		e.Apply(cache.Modified, servetest.Foo(0, 11)) // keeps the large one alive, instead of all events before
		time.Sleep(time.Minute)
		if got := c.Take(); !slices.Equal(got, []string{"MODIFIED f000000@4", "MODIFIED f000000@5"}) || !c.Ended() {
			t.Errorf("the client gets %q, ended %v", got, c.Ended())
		}
	})
}

// Watches whose clients do not read each hold a piece of initial events.
func TestInitialEventsCountTheirBuffers(t *testing.T) {
	for memory, want := range map[int64]string{0: `"code":429`, 1 << 20: `"resourceVersion":"3"`} {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.Foos(3), serve.Options{SlowReaders: flowcontrol.NewSlowReaders()})
			e.Accounts = accounts.New(accounts.Totals{accounts.Held: memory}, 1<<30)
			c := e.Watch(servetest.FooWatch+"&resourceVersion=0", nil)
			synctest.Wait()
			if got := string(c.TakeBytes()); !strings.Contains(got, want) {
				t.Errorf("with %d bytes: %s", memory, got)
			}
			if used := e.Accounts.Usage(accounts.Held).Used; used != 0 {
				t.Errorf("%d bytes are held by a quiet watch", used)
			}
			c.Leave()
		})
	}
}

// Each watch of Tables makes a text of its own of an event. 130 watches of one ConfigMap kept 900 MB.
func TestTextOfALongEventCountsBeforeItIsMade(t *testing.T) {
	const length = 300 << 10
	for held, ends := range map[int64]bool{2 * length: true, 20 * length: false} {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.AgingFoos(t, 3, servetest.SpreadAges), serve.Options{SlowReaders: flowcontrol.NewSlowReaders()})
			e.Accounts = accounts.New(accounts.Totals{accounts.Held: held}, 1<<30)
			c := e.Watch(servetest.FooWatch+servetest.FromThree, http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}})
			for version := uint64(4); version < 6; version++ { // the first has the columns
				large := servetest.Foo(0, version)
				large.Data = fmt.Appendf(nil, `{"metadata":{"name":"f000000","resourceVersion":"%d"},"text":"%s"}`, version, strings.Repeat("a", length))
				e.Apply(cache.Modified, large)
				synctest.Wait()
				if used := e.Accounts.Usage(accounts.Held).Used; used != 0 {
					t.Errorf("%d bytes are held by a quiet watch", used)
				}
			}
			if got := bytes.Count(c.TakeBytes(), []byte(`"MODIFIED"`)); c.Ended() != ends || (got == 2) == ends {
				t.Errorf("with %d bytes the client gets %d events, ended %v", held, got, c.Ended())
			}
			c.Leave()
		})
	}
}
