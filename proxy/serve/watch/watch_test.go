package watch_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/proxy/serve/plan"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestOnlyTheFirstTableEventHasColumns(t *testing.T) {
	for _, row := range []struct {
		query   string
		happens step
		want    []string
	}{
		{"resourceVersion=0", modified(0, 4), []string{"ADDED f000000@1+", "ADDED f000001@2", "ADDED f000002@3", "MODIFIED f000000@4"}},
		{"resourceVersion=3", modified(0, 4), []string{"MODIFIED f000000@4+"}},
		{servetest.Streaming + servetest.Bookmarks + "&labelSelector=even%3Dtrue", modified(0, 4), []string{
			"ADDED f000000@1+", "ADDED f000002@3", "BOOKMARK@3 end", "MODIFIED f000000@4",
		}},
		{servetest.Streaming + servetest.Bookmarks + "&labelSelector=even%3Dnever", modified(0, 4), []string{"BOOKMARK@3 end+"}},
		// An object that leaves the selection has its last selected content, at the version of the event.
		{servetest.FromThree + "&labelSelector=even%3Dtrue", relabeled(0, 4, "false"), []string{"DELETED f000000@4+"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.Tables(t, 3), serve.Options{})
			c := e.Watch(servetest.FooWatch+row.query, http.Header{"Accept": {servetest.AsTable}})
			row.happens(e, c)
			synctest.Wait()
			if got := c.Take(); !slices.Equal(got, row.want) {
				t.Errorf("%s: got %q, want %q", row.query, got, row.want)
			}
		})
	}
}

func TestWatchThatFallsBehindTheHistoryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servetest.Foos(3)
		c.Store = cache.New(cache.Options{HistoryBytes: 8 << 10}, slices.Collect(c.Store.Snapshot().Objects(tree.Range{})), 3).Store
		e := handlertest.New(t, c, serve.Options{})
		client := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		stalls(e, client)
		e.Apply(cache.Modified, servetest.Foo(0, 4))
		synctest.Wait()       // the watch writes
		for i := range 1000 { // more than are archived
			e.Apply(cache.Modified, servetest.Foo(0, uint64(5+i)))
		}
		isOpen(e, client)
		resumes(e, client)
		synctest.Wait()
		hasEnded(request.Expired)(e, client)
		for i, event := range client.Take() {
			if want := "MODIFIED f000000@" + strconv.Itoa(4+i); event != want {
				t.Errorf("event %d is %s, want %s", i, event, want)
			}
		}
	})
}

// An apiserver without the feature would send the whole resource.
func TestShardedWatchFromBeforeTheHistoryExpiresHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.BeforeHistory(), serve.Options{Features: plan.Features{ShardSelector: true}})
		r := e.Request(servetest.FooWatch+servetest.FromThree+"&shardSelector="+servetest.HalfOfUIDs, nil)
		w := &servetest.WatchClient{}
		outcome := e.Do(w, r)
		want := request.Outcome{Source: request.SourceGateway, Reason: "version-before-history", Format: "json", End: request.Expired}
		if e.Passed != nil || outcome != want || w.Code != http.StatusOK {
			t.Fatalf("code %d, outcome %+v", w.Code, outcome)
		}
		body := w.TakeBytes()
		if !strings.Contains(string(body), "too old resource version: 3 (50)") {
			t.Errorf("body %s", body)
		}
		if got := servetest.DecodeEvents(body); !slices.Equal(got, []string{"ERROR 410"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestWatchCountsItselfAndItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Metrics: serve.NewMetrics(registry)})
		c := e.Watch(servetest.FooWatch+servetest.Streaming+servetest.Bookmarks, nil)
		e.Apply(cache.Added, servetest.Foo(3, 4))
		e.Apply(cache.Added, servetest.Foo(4, 5))
		synctest.Wait()
		checkMetrics(t, registry, map[string]float64{"sluice_watchers": 1, "sluice_watch_events_total": 2, "sluice_watch_events_dispatch_duration_seconds": 0,
			"sluice_fence_proofs_total": 1, "sluice_proof_duration_seconds": 0,
			"sluice_slo_requests_total": 1})
		c.Leave()
		synctest.Wait()
		checkMetrics(t, registry, map[string]float64{"sluice_watchers": 0, "sluice_watch_events_total": 2, "sluice_watch_events_dispatch_duration_seconds": 0,
			"sluice_fence_proofs_total": 1, "sluice_proof_duration_seconds": 0,
			"sluice_slo_requests_total": 1})
	})
}

func checkMetrics(t *testing.T, from prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
}

// A watch that cannot be opened leaves no cursor behind, and one that ends closes its own.
func TestCloseOfEveryWatchReleasesItsCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		for _, query := range []string{servetest.FromThree, servetest.Streaming + servetest.Bookmarks, "resourceVersion=0&labelSelector=even%3Dtrue"} {
			c := e.Watch(servetest.FooWatch+query, nil)
			if n := e.Resource.Store.Stats().Cursors; n != 1 {
				t.Errorf("%s: %d cursors", query, n)
			}
			c.Leave()
			synctest.Wait()
		}
		if n := e.Resource.Store.Stats().Cursors; n != 0 {
			t.Errorf("%d cursors", n)
		}
	})
}

func TestDrainSpreadsTheEndsOfWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const watches, spread = 64, 10 * time.Second
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Spread: func() time.Duration { return spread }})
		var clients []*servetest.WatchClient
		for range watches {
			clients = append(clients, e.Watch(servetest.FooWatch+servetest.FromThree, nil))
		}
		close(e.Draining)
		open := func() (n int) {
			synctest.Wait()
			for _, c := range clients {
				if !c.Ended() {
					n++
				}
			}
			return n
		}
		for quarter := range 4 {
			before := open()
			time.Sleep(spread / 4)
			if now := open(); now == before {
				t.Errorf("no watch ends in quarter %d", quarter)
			}
		}
		time.Sleep(time.Nanosecond)
		if n := open(); n > 0 {
			t.Errorf("%d watches are open after the spread", n)
		}
	})
}

// SetWatches reaches watches that are open.
func TestRecheckIntervalOfOpenWatchesMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Recheck: time.Minute})
		c := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		e.Handler.(*serve.Handler).SetWatches(20*time.Minute, false)
		time.Sleep(time.Minute) // the check that was due
		e.Access.Set(false, nil)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		isOpen(e, c)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		hasEnded(request.Revoked)(e, c)
	})
}

// Sluice lists only the scope of a small servetest.Streaming list if listing the whole resource costs more.
func TestSmallStreamingListIsProvenByAnInventoryOfItsScope(t *testing.T) {
	other := func(version uint64) *tree.Object {
		o := servetest.Foo(900, version)
		o.Key = tree.KeyOf("other", "f000900")
		return o
	}
	for _, row := range []struct {
		law    string
		listed *tree.Object
		want   []string
	}{
		{"AtOnce", other(201), []string{"ADDED f000900@201", "BOOKMARK@300 end"}},
		{"OnceItsEventsHaveArrived", other(250), []string{"ADDED f000900@201", "MODIFIED f000900@250", "BOOKMARK@300 end"}},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := handlertest.New(t, servetest.Foos(200), serve.Options{})
				e.Apply(cache.Added, other(201))
				e.Apiserver.SetListed(300, row.listed, servetest.Foo(1, 299))
				c := e.Watch("/apis/ex.io/v1/namespaces/other/foos?watch=1&"+servetest.Streaming+servetest.Bookmarks, nil)
				if called := e.Apiserver.Scopes(); len(called) == 0 || called[0] != (cache.Scope{Namespace: "other"}) {
					t.Errorf("called the rolls of %+v", called)
				}
				e.Apply(cache.Modified, other(250)) // part of the state at 300
				synctest.Wait()
				if got := c.Take(); !slices.Equal(got, row.want) {
					t.Errorf("got %q, want %q", got, row.want)
				}
				e.Apply(cache.Modified, other(301))
				synctest.Wait()
				if got := c.Take(); !slices.Equal(got, []string{"MODIFIED f000900@301"}) {
					t.Errorf("then got %q", got)
				}
			})
		})
	}
}

// Such a watch reads the history again after each event. A bookmark ahead of its events would make the client miss them.
func TestInitialEventsOfASlowReaderEndAfterTheEventsOfTheirVersion(t *testing.T) {
	const last = 20
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		e.Apiserver.Set(last, 0)
		c := e.Watch(servetest.FooWatch+servetest.Streaming+servetest.Bookmarks, nil)
		c.Slow = 2 * time.Second
		for version := uint64(4); version <= 2*last; version++ {
			e.Apply(cache.Modified, servetest.Foo(0, version))
		}
		time.Sleep(5 * time.Minute)
		got := c.Take()
		end := slices.IndexFunc(got, func(event string) bool { return strings.HasPrefix(event, "BOOKMARK") })
		if end < 0 || got[end] != fmt.Sprintf("BOOKMARK@%d end", end) { // three objects before the event of version 4
			t.Errorf("the bookmark is event %d of %q", end, got)
		}
	})
}

// specified is a Foo with two fields.
func specified(version uint64, a, b int) *tree.Object {
	o := servetest.Foo(0, version)
	spec := fmt.Sprintf(`,"spec":{"a":%d,"b":%d}}`, a, b)
	o.Data = append(slices.Clone(o.Data[:len(o.Data)-1]), spec...)
	return o
}

func TestQuietWatchOmitsModificationsOfOtherFields(t *testing.T) {
	for _, row := range []struct {
		accept string
		want   []string // of five modifications
	}{
		{"application/json;keep=spec.a", []string{"MODIFIED f000000@4", "MODIFIED f000000@5", "MODIFIED f000000@6", "MODIFIED f000000@7"}},
		{"application/json;keep=spec.a;quiet=1", []string{"MODIFIED f000000@4", "MODIFIED f000000@6"}},
		{"application/json;drop=spec.b;quiet=1", []string{"MODIFIED f000000@4", "MODIFIED f000000@6"}},
		{"application/json;keep=metadata;quiet=1", nil},
	} {
		for _, compressed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				e := handlertest.New(t, servetest.Foos(3), serve.Options{CompressWatches: compressed})
				header := http.Header{"Accept": {row.accept}}
				if compressed {
					header.Set("Accept-Encoding", "gzip")
				}
				c := e.Watch(servetest.FooWatch+servetest.FromThree+servetest.Bookmarks, header)
				other := e.Watch(servetest.FooWatch+servetest.FromThree, nil) // it shares no frames
				e.Apply(cache.Modified, specified(4, 1, 1))
				e.Apply(cache.Modified, specified(5, 1, 2)) // another field
				e.Apply(cache.Modified, specified(6, 2, 2))
				e.Apply(cache.Modified, specified(7, 2, 3))
				synctest.Wait()
				stream := c.TakeBytes()
				if compressed {
					stream = gunzipped(t, stream)
				}
				if got := servetest.DecodeEvents(stream); !slices.Equal(got, row.want) {
					t.Errorf("%s, compressed %v: got %q, want %q", row.accept, compressed, got, row.want)
				}
				if got := other.Take(); len(got) != 4 {
					t.Errorf("a whole watch: %q", got)
				}
				e.Apply(cache.Deleted, specified(8, 2, 3))
				synctest.Wait()
				if got := c.TakeBytes(); len(got) == 0 {
					t.Errorf("%s, compressed %v: no DELETED", row.accept, compressed)
				}
			})
		}
	}
}

// The version before an archived modification is not always known, and then it is sent.
func TestQuietWatchSendsArchivedModifications(t *testing.T) {
	const events = 1000
	synctest.Test(t, func(t *testing.T) {
		c := servetest.Foos(3)
		c.Store = cache.New(cache.Options{HistoryBytes: 256 << 10}, slices.Collect(c.Store.Snapshot().Objects(tree.Range{})), 3).Store
		e := handlertest.New(t, c, serve.Options{})
		for i := range events {
			e.Apply(cache.Modified, specified(uint64(4+i), i, 0))
		}
		client := e.Watch(servetest.FooWatch+servetest.FromThree, http.Header{"Accept": {"application/json;keep=spec.a;quiet=1"}})
		synctest.Wait()
		if got := client.Take(); len(got) != events {
			t.Errorf("%d events", len(got))
		}
	})
}

// gunzipped returns what can be read of a stream that goes on.
func gunzipped(t *testing.T, stream []byte) []byte {
	t.Helper()
	if len(stream) == 0 {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(z) // the end is missing
	return text
}

// A bookmark moves the client past modifications that it was not sent.
func TestBookmarkOfAQuietWatchHasTheVersionOfOmittedModifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		c := e.Watch(servetest.FooWatch+servetest.FromThree+servetest.Bookmarks, http.Header{"Accept": {"application/json;keep=spec;quiet=1"}})
		e.Apply(cache.Modified, servetest.Foo(0, 4))
		time.Sleep(2 * time.Minute)
		if got := c.Take(); !slices.Equal(got, []string{"BOOKMARK@4"}) {
			t.Errorf("got %q", got)
		}
	})
}
