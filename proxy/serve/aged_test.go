package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/resources"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/servetest"
)

// freshTable returns the Table of the whole store, without any memo.
func freshTable(t *testing.T, c *resources.CachedResource) []byte {
	t.Helper()
	w, err := codec.NewWriter(&c.Resource, codec.Format{Shape: codec.Table})
	if err != nil {
		t.Fatal(err)
	}
	state := c.Store.Snapshot()
	meta := metav1.ListMeta{ResourceVersion: fmt.Sprint(state.Version)}
	body, separator := w.AppendListHead(nil, meta, state.Len(), 0), ""
	for o := range state.Objects(tree.Range{}) {
		if body, err = w.AppendItem(append(body, separator...), o.Data); err != nil {
			t.Fatal(err)
		}
		separator = w.Separator()
	}
	return w.AppendListTail(body, meta, state.Len())
}

// freshEvents returns the initial events of a watch of the whole store, without any memo.
func freshEvents(t *testing.T, c *resources.CachedResource) (body []byte) {
	t.Helper()
	w, err := codec.NewWriter(&c.Resource, codec.Format{Shape: codec.Table})
	if err != nil {
		t.Fatal(err)
	}
	for o := range c.Store.Snapshot().Objects(tree.Range{}) {
		if body, err = w.AppendEvent(body, "ADDED", o.Data, len(body) == 0); err != nil {
			t.Fatal(err)
		}
	}
	return body
}

func TestTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := servetest.AgingFoos(t, 2000, servetest.SpreadAges)
		e := newEnv(t, c, Options{Encoded: tree.NewBudget(1 << 30)})
		for _, d := range servetest.Pauses {
			time.Sleep(d)
			want := freshTable(t, c)
			for _, coding := range []string{"", "gzip", "zstd"} {
				w := e.Get(servetest.FooList+"?resourceVersion=0", http.Header{"Accept": {servetest.AsTable}, "Accept-Encoding": {coding}})
				if got := w.Header().Get("Content-Encoding"); got != coding {
					t.Fatalf("coding %q, want %q", got, coding)
				}
				if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
					t.Fatalf("%v later in %q: %d bytes, want %d", d, coding, len(got), len(want))
				}
			}
		}
	})
}

func TestInitialEventsOfTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := servetest.AgingFoos(t, 2000, servetest.SpreadAges)
		e := newEnv(t, c, Options{Encoded: tree.NewBudget(1 << 30), CompressWatches: true})
		for _, d := range servetest.Pauses {
			time.Sleep(d)
			want := freshEvents(t, c)
			for _, coding := range []string{"", "gzip", "zstd"} {
				client := e.Watch(fooWatch+"resourceVersion=0", http.Header{"Accept": {servetest.AsTable}, "Accept-Encoding": {coding}})
				client.Leave()
				synctest.Wait()
				w := httptest.NewRecorder()
				w.Header().Set("Content-Encoding", client.Header().Get("Content-Encoding"))
				w.Body.Write(client.TakeBytes())
				if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
					t.Fatalf("%v later in %q: %d bytes, want %d", d, coding, len(got), len(want))
				}
			}
		}
	})
}

func TestEventsOfTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := servetest.AgingFoos(t, 3, func(int) time.Duration { return 95 * time.Second })
		encoder, err := encode.FormatFor(c, codec.Format{Shape: codec.Table})
		if err != nil {
			t.Fatal(err)
		}
		modified := servetest.AgingFoo(1, 4, time.Now().Add(-95*time.Second))
		e := servetest.EventOf(t, c, cache.Modified, modified)
		for _, d := range []time.Duration{0, time.Second - 1, 1, 10 * time.Second, time.Hour} {
			time.Sleep(d)
			for _, kind := range []cache.Type{cache.Modified, cache.Added, cache.Deleted} {
				o := modified
				if kind == cache.Deleted { // from a selection, to which the object before belonged
					if o, err = encoder.DeletedFromSelection(e.Previous, 4); err != nil {
						t.Fatal(err)
					}
				}
				want, err := encoder.AppendEvent(nil, kind, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, coding := range []splice.Coding{splice.Identity, splice.Gzip, splice.Zstd} {
					w := httptest.NewRecorder()
					if coding != splice.Identity {
						w.Header().Set("Content-Encoding", coding.String())
					}
					out := newWatchWriter(w, nil, coding)
					if err := out.begin(); err != nil {
						t.Fatal(err)
					}
					if err := out.agedFrame(e, kind, encoder); err != nil {
						t.Fatal(err)
					}
					out.end()
					if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
						t.Errorf("%v %v later in %v: got %s, want %s", kind, d, coding, got, want)
					}
				}
			}
		}
	})
}

func TestWatchesOfTablesShareCompressedEventsWhileTheirAgesStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servetest.AgingFoos(t, 3, func(int) time.Duration { return time.Minute })
		encoder, err := encode.FormatFor(c, codec.Format{Shape: codec.Table})
		if err != nil {
			t.Fatal(err)
		}
		e := servetest.EventOf(t, c, cache.Modified, servetest.AgingFoo(1, 4, time.Now().Add(-time.Minute)))
		write := func() float64 {
			out := newWatchWriter(nowhere{http.Header{}}, nil, splice.Gzip)
			return testing.AllocsPerRun(10, func() {
				if err := out.agedFrame(e, cache.Modified, encoder); err != nil {
					t.Fatal(err)
				}
			})
		}
		if n := write(); n > 2 {
			t.Errorf("%v allocations: the event is compressed again", n)
		}
	})
}
