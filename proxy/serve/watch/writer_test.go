package watch_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/serve"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/watch"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestBatchIsFlushedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		c := e.Watch(servetest.FooWatch+servetest.FromThree, nil)
		stalls(e, c)
		for i := range watch.Batch {
			e.Apply(cache.Modified, servetest.Foo(0, uint64(4+i)))
			synctest.Wait() // the first event is a batch of its own
		}
		_, before := c.State()
		resumes(e, c)
		synctest.Wait()
		if _, flushes := c.State(); len(c.Take()) != watch.Batch || flushes-before != 2 {
			t.Errorf("%d flushes", flushes-before)
		}
	})
}

func TestCompressedWatchIsOneWholeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{CompressWatches: true, Encoded: tree.NewBudget(1 << 20)})
		c := e.Watch(servetest.FooWatch+servetest.Streaming+servetest.Bookmarks, http.Header{"Accept-Encoding": {"gzip"}})
		e.Apply(cache.Added, servetest.Foo(3, 4))
		synctest.Wait()
		c.Leave()
		synctest.Wait()
		if got := c.Header().Get("Content-Encoding"); got != "gzip" {
			t.Fatalf("coding %q", got)
		}
		z, err := gzip.NewReader(bytes.NewReader(c.TakeBytes()))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		want := append(slices.Clone(threeFoos), "BOOKMARK@3 end", "ADDED f000003@4")
		if got := servetest.DecodeEvents(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// An apiserver that compresses servetest.Streaming lists compresses all of them, and no other watch.
func TestStreamingListsAreCompressedAsByTheApiserver(t *testing.T) {
	const watch, deprecated = "/apis/ex.io/v1/foos?watch=1&", "/apis/ex.io/v1/watch/foos?"
	for _, row := range []struct {
		url         string
		short, long string // if the apiserver compresses no watch
		upstream    string // if it compresses servetest.Streaming lists
	}{
		{watch + servetest.Streaming + servetest.Bookmarks, "", "gzip", "gzip"},
		{watch + servetest.Streaming + servetest.Bookmarks + "&labelSelector=even%3Dtrue", "", "gzip", "gzip"},
		{watch + servetest.Streaming + servetest.Bookmarks + "&resourceVersion=0", "", "gzip", "gzip"},
		{watch + servetest.Bookmarks, "", "gzip", "gzip"}, // by default
		{watch + servetest.Bookmarks + "&resourceVersion=0", "", "gzip", "gzip"},
		{watch + servetest.Streaming, "", "", ""},
		{watch + "resourceVersion=0", "", "", ""},
		{watch + "resourceVersion=3" + servetest.Bookmarks, "", "", ""},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0" + servetest.Bookmarks, "", "", ""},
		{deprecated + servetest.Bookmarks, "", "", ""},
	} {
		for _, setting := range []struct {
			objects    int
			compresses bool
			want       string
		}{{3, false, row.short}, {2000, false, row.long}, {3, true, row.upstream}, {2000, true, row.upstream}} {
			synctest.Test(t, func(t *testing.T) {
				resource := servetest.Foos(setting.objects)
				resource.CompressesStreamingLists = setting.compresses
				e := handlertest.New(t, resource, serve.Options{})
				c := e.Watch(row.url, http.Header{"Accept-Encoding": {"gzip"}})
				vary := c.Header().Get("Vary") == "Accept-Encoding"
				if got := c.Header().Get("Content-Encoding"); got != setting.want || vary != (got != "") {
					t.Errorf("%s, %+v: coding %q, headers %v", row.url, setting, got, c.Header())
				}
			})
		}
	}
}

// Initial events are the same bytes from memoized segments and one by one.
func TestInitialEventsDoNotDependOnTheMemo(t *testing.T) {
	watch := func(budget *tree.Budget, accept string) (body []byte) {
		synctest.Test(t, func(t *testing.T) {
			e := handlertest.New(t, servetest.Foos(1000), serve.Options{Encoded: budget})
			c := e.Watch(servetest.FooWatch+servetest.Streaming+servetest.Bookmarks, http.Header{"Accept": {accept}})
			body = c.TakeBytes()
		})
		return body
	}
	for _, accept := range []string{"application/json", "application/cbor", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"} {
		plain, memoized := watch(nil, accept), watch(tree.NewBudget(1<<30), accept)
		if len(plain) < 1000 || !bytes.Equal(plain, memoized) {
			t.Errorf("%s: %d bytes, memoized %d", accept, len(plain), len(memoized))
		}
	}
}

func TestWatchesInOneCodingShareCompressedEvents(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := servetest.Foos(3)
		cursor, err := c.Store.Watch(cache.Scope{}, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer cursor.Close()
		budget := tree.NewBudget(1 << 20)
		e := handlertest.New(t, c, serve.Options{CompressWatches: true, Encoded: budget})
		for _, coding := range []string{"gzip", "zstd", "gzip", ""} {
			e.Watch(servetest.FooWatch+servetest.FromThree, http.Header{"Accept-Encoding": {coding}})
		}
		e.Apply(cache.Added, servetest.Foo(3, 4))
		synctest.Wait()
		events := make([]*cache.Event, 1)
		if n, _, err := cursor.Next(events); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		encoder, err := encode.FormatFor(c, codec.Format{})
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(10, func() {
			for _, coding := range []splice.Coding{splice.Identity, splice.Gzip, splice.Zstd} {
				if _, err := events[0].Frame(budget, encoder.Frames(coding), cache.Added); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > 10 {
			t.Errorf("a frame is encoded again: %v allocations", n)
		}
	})
}
