package watch_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// brokenFoo is an object that can be written only as it is stored.
func brokenFoo(i int, version uint64) *tree.Object {
	o := servetest.Foo(i, version)
	o.Data = []byte(`{"metadata":{"labels":1}}`)
	return o
}

// A client that was cut off without a word would come back to the same object for ever.
func TestWatchThatCannotWriteAnObjectEndsWithAnErrorAndPassesAgain(t *testing.T) {
	const oneAsMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for _, row := range []struct {
		name, accept, coding, query string
		initial                     bool // the object is there before the watch
		want                        []string
	}{
		{"event", oneAsMetadata, "", servetest.FromThree, false, []string{"ADDED f000003@4", "ERROR 429"}},
		{"event of a Table", servetest.AsTable, "", servetest.FromThree, false, []string{"ADDED f000003@4+", "ERROR 429"}},
		{"compressed event", oneAsMetadata, "gzip", servetest.FromThree, false, []string{"ADDED f000003@4", "ERROR 429"}},
		{"initial event", oneAsMetadata, "", "resourceVersion=0&labelSelector=even%3Dtrue", true, []string{"ADDED f000000@1", "ADDED f000002@3", "ERROR 429"}},
		{"initial event of a Table", servetest.AsTable, "", "resourceVersion=0", true, []string{"ADDED f000000@1+", "ADDED f000001@2", "ADDED f000002@3", "ADDED f000003@4", "ERROR 429"}},
		{"memoized initial events", oneAsMetadata, "", "resourceVersion=0", true, []string{"ERROR 429"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := handlertest.New(t, servetest.Tables(t, 3), serve.Options{CompressWatches: row.coding != "", Encoded: tree.NewBudget(1 << 20)})
				header := http.Header{"Accept": {row.accept}, "Accept-Encoding": {row.coding}}
				happen := func() {
					e.Apply(cache.Added, servetest.Foo(3, 4))
					e.Apply(cache.Added, brokenFoo(4, 5))
					e.Apply(cache.Added, servetest.Foo(5, 6))
				}
				if row.initial {
					happen()
				}
				c := e.Watch(servetest.FooWatch+row.query, header)
				if !row.initial {
					happen()
					synctest.Wait()
				}
				stream := c.TakeBytes()
				if row.coding != "" {
					stream = gunzipped(t, stream)
				}
				if got := servetest.DecodeEvents(stream); !slices.Equal(got, row.want) {
					t.Errorf("the client gets %q, want %q", got, row.want)
				}
				hasEnded(request.Failed)(e, c)
				r := e.Request(servetest.FooWatch+servetest.FromThree, header)
				if outcome := e.Do(&servetest.WatchClient{}, r); e.Passed == nil || outcome.Reason != "format" {
					t.Errorf("the next watch: outcome %+v", outcome)
				}
			})
		})
	}
}
