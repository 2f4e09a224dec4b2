package encode_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// freshTable returns the Table of the whole store, without any memo.
func freshTable(t *testing.T, c *resources.CachedResource) []byte {
	t.Helper()
	w, err := codec.NewWriter(&c.Resource, codec.Format{Shape: codec.Table})
	if err != nil {
		t.Fatal(err)
	}
	w = w.At(c.Now())
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
	w = w.At(c.Now())
	for o := range c.Store.Snapshot().Objects(tree.Range{}) {
		if body, err = w.AppendEvent(body, "ADDED", o.Data, len(body) == 0); err != nil {
			t.Fatal(err)
		}
	}
	return body
}

// skews are by how much the apiserver's clock, as of which ages are, is ahead.
var skews = []time.Duration{0, 90 * time.Second, -90 * time.Second}

func TestTablesHaveTheAgesOfTheirTime(t *testing.T) {
	for name, row := range map[string]struct {
		fresh func(*testing.T, *resources.CachedResource) []byte
		read  func(*servetest.Env, http.Header) *httptest.ResponseRecorder
	}{
		"list": {freshTable, func(e *servetest.Env, h http.Header) *httptest.ResponseRecorder {
			return e.Get(servetest.FooList+"?resourceVersion=0", h)
		}},
		"initial events": {freshEvents, func(e *servetest.Env, h http.Header) *httptest.ResponseRecorder {
			client, w := e.Watch(servetest.FooWatch+"resourceVersion=0", h), httptest.NewRecorder()
			client.Leave()
			synctest.Wait()
			w.Header().Set("Content-Encoding", client.Header().Get("Content-Encoding"))
			w.Body.Write(client.TakeBytes())
			return w
		}},
	} {
		servetest.InBubble(t, func(t *testing.T) {
			c := servetest.AgingFoos(t, 2000, servetest.SpreadAges)
			skew := time.Duration(0)
			c.Now = func() time.Time { return time.Now().Add(skew) }
			e := handlertest.New(t, c, serve.Options{Encoded: tree.NewBudget(1 << 30), CompressWatches: true})
			for i, d := range servetest.Pauses {
				time.Sleep(d)
				skew = skews[i%len(skews)]
				want := row.fresh(t, c)
				for _, coding := range []string{"", "gzip", "zstd"} {
					w := row.read(e, http.Header{"Accept": {servetest.AsTable}, "Accept-Encoding": {coding}})
					if got := w.Header().Get("Content-Encoding"); got != coding {
						t.Fatalf("%s: coding %q, want %q", name, got, coding)
					}
					if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
						t.Fatalf("%s %v later in %q: %d bytes, want %d", name, d, coding, len(got), len(want))
					}
				}
			}
		})
	}
}
