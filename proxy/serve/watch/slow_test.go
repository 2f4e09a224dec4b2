package watch_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
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

// What the client has not begun to read must be able to leave the memory of the history.
func TestWatchOfABlockedClientHoldsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		c := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		c.Slow = 2 * time.Second
		for version := uint64(4); version < 10; version++ {
			e.Apply(cache.Modified, servetest.Foo(0, version))
		}
		time.Sleep(c.Slow + time.Second) // the first event has been written, and all others were read
		e.Apply(cache.Modified, randomFoo(10, 4<<20))
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
			e := handlertest.New(t, servetest.Foos(3), serve.Options{})
			e.Held = limits.NewLedger(memory)
			c := e.Watch(servetest.FooWatch+"&resourceVersion=0", nil)
			synctest.Wait()
			if got := string(c.TakeBytes()); !strings.Contains(got, want) {
				t.Errorf("with %d bytes: %s", memory, got)
			}
			if used := e.Held.Usage().Held; used != 0 {
				t.Errorf("%d bytes are held by a quiet watch", used)
			}
			c.Leave()
		})
	}
}

// longFoo returns a version of the first object of servetest.Foos with a text of length bytes.
func longFoo(version uint64, length int) *tree.Object {
	o := servetest.Foo(0, version)
	o.Data = fmt.Appendf(nil, `{"metadata":{"name":"f000000","resourceVersion":"%d"},"text":"%s"}`, version, strings.Repeat("a", length))
	return o
}

// randomFoo is longFoo with a text that can be compressed to the half.
func randomFoo(version uint64, length int) *tree.Object {
	text := make([]byte, length/2)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	o := longFoo(version, 0)
	o.Data = bytes.Replace(o.Data, []byte(`"text":""`), fmt.Appendf(nil, `"text":"%x"`, text), 1)
	return o
}

// One user can have 10 objects of 1 MiB in each of ten resources and watch all of them in six formats: the frames of the
// recent events took 1.1 GB.
func TestFramesOfRecentEventsKeepTheBudget(t *testing.T) {
	const length, limit = 300 << 10, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		budget := tree.NewBudget(limit)
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Encoded: budget})
		var watches []*servetest.WatchClient
		for query, accept := range map[string]string{"": "application/json", "&pretty=1": "application/json", "&pretty=0": "application/cbor"} {
			watches = append(watches, e.Watch(servetest.FooWatch+servetest.FromThree+query, http.Header{"Accept": {accept}}))
		}
		for version := uint64(4); version < 10; version++ {
			e.Apply(cache.Modified, longFoo(version, length))
			synctest.Wait()
			if n := budget.Used(); n < length || n > limit {
				t.Errorf("%d bytes of frames are kept", n)
			}
		}
		for i, c := range watches {
			if n := len(c.TakeBytes()); n < 6*length {
				t.Errorf("watch %d gets %d bytes", i, n)
			}
			c.Leave()
		}
	})
}

// A long frame takes a turn of the processors before it is made, and nobody waits for a turn once it is.
func TestWatchThatMakesALongFrameTakesATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpu := flowcontrol.NewCPU(1)
		e := handlertest.New(t, servetest.Foos(3), serve.Options{
			Encoded: tree.NewBudget(1 << 30), CPU: cpu,
		})
		first := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		synctest.Wait()
		busy := func() (end func()) {
			work := cpu.Work(t.Context(), limits.Caller{Group: "other"}, 1<<30)
			if err := work.Next(); err != nil {
				t.Fatal(err)
			}
			return work.Rest
		}
		end := busy()
		e.Apply(cache.Modified, longFoo(4, 300<<10))
		synctest.Wait()
		if n := len(first.TakeBytes()); n > 0 {
			t.Errorf("%d bytes without a turn", n)
		}
		end()
		synctest.Wait()
		if n := len(first.TakeBytes()); n < 300<<10 {
			t.Errorf("%d bytes after its turn", n)
		}
		defer busy()()
		second := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		synctest.Wait()
		if len(second.TakeBytes()) == 0 {
			t.Error("a watch waits for a turn although there is a frame")
		}
		first.Leave()
		second.Leave()
	})
}

// Each watch of Tables makes a text of its own of an event. 130 watches of one ConfigMap kept 900 MB.
func TestTextOfALongEventCountsBeforeItIsMade(t *testing.T) {
	const length = 300 << 10
	for held, ends := range map[int64]bool{2 * length: true, 20 * length: false} {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.AgingFoos(t, 3, servetest.SpreadAges), serve.Options{})
			e.Held = limits.NewLedger(held)
			c := e.Watch(servetest.FooWatch+servetest.FromThree, http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}})
			for version := uint64(4); version < 6; version++ { // the first has the columns
				e.Apply(cache.Modified, longFoo(version, length))
				synctest.Wait()
				if used := e.Held.Usage().Held; used != 0 {
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
