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
	"sluice/codec/table"
	"sluice/proxy/resources"
	"sluice/proxy/serve/servetest"
)

// agingFoo returns a foo that was created at a time.
func agingFoo(i int, version uint64, created time.Time) *tree.Object {
	o := servetest.Foo(i, version)
	text := fmt.Sprintf(`{"metadata":{"creationTimestamp":%q,`, created.UTC().Format(time.RFC3339))
	o.Data = bytes.Replace(o.Data, []byte(`{"name"`), []byte(text[len(`{"metadata":`):]+`"name"`), 1)
	return o
}

// agingFoos returns a cached resource of n foos with the columns Name and Age, of the given ages.
func agingFoos(t *testing.T, n int, age func(i int) time.Duration) *resources.CachedResource {
	t.Helper()
	c := servetest.Foos(0)
	var objects []*tree.Object
	for i := range n {
		objects = append(objects, agingFoo(i, uint64(i+1), time.Now().Add(-age(i))))
	}
	c.Store = cache.New(cache.Options{HistoryAge: time.Hour, HistoryBytes: 1 << 20}, objects, uint64(n))
	columns, err := table.Custom(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.ColumnsMatch, c.Resource.Columns = true, columns
	return c
}

var tableFormat = codec.Format{Shape: codec.Table}

// freshTable returns the Table of the whole store, without any memo.
func freshTable(t *testing.T, c *resources.CachedResource) []byte {
	t.Helper()
	w, err := codec.NewWriter(&c.Resource, tableFormat)
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
	w, err := codec.NewWriter(&c.Resource, tableFormat)
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

// passing are times between lists: no age, some ages and all ages change meanwhile.
var passing = []time.Duration{0, time.Second, time.Second, 29 * time.Second, time.Minute, time.Hour, 25 * time.Hour, 365 * 24 * time.Hour}

// spread returns very different ages, some of them in the future.
func spread(i int) time.Duration {
	return time.Duration(i*i)*time.Second/4 - 5*time.Second
}

func TestTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := agingFoos(t, 2000, spread)
		e := newEnv(t, c, Options{Encoded: tree.NewBudget(1 << 30)})
		for _, d := range passing {
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
		c := agingFoos(t, 2000, spread)
		e := newEnv(t, c, Options{Encoded: tree.NewBudget(1 << 30), CompressWatches: true})
		for _, d := range passing {
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

// The age of object 0 changes each second, the others each hour.
func TestBlocksOfTablesAreMadeAnewWhenAnAgeChanges(t *testing.T) {
	for _, events := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := agingFoos(t, 1000, func(i int) time.Duration {
				if i == 0 {
					return 10 * time.Second
				}
				return 3 * 24 * time.Hour
			})
			encoder, err := encoderFor(c, tableFormat)
			if err != nil {
				t.Fatal(err)
			}
			e := &segmentEncoder{encoder: encoder, writer: encoder.Writer, events: events, budget: tree.NewBudget(1 << 30)}
			before := blocks(t, e, c.Store.Snapshot())
			for _, row := range []struct {
				passes time.Duration
				want   int
			}{{time.Second - 1, 0}, {1, 1}, {time.Second - 1, 0}, {1, 1}, {time.Hour - 2*time.Second - 1, 1}, {1, len(before)}} {
				time.Sleep(row.passes)
				after := blocks(t, e, c.Store.Snapshot())
				if made := countNew(before, after); made != row.want {
					t.Errorf("events %v: %d blocks of %d are new after %v, want %d", events, made, len(before), row.passes, row.want)
				}
				before = after
			}
		})
	}
}

func TestAgesOfAClockThatIsSetBackAreNotReused(t *testing.T) {
	now := time.Now()
	v := validityOf(&table.Text{Ages: []table.Age{{Since: now.Add(-10 * time.Second)}}}, now)
	for d, want := range map[time.Duration]bool{-1: false, 0: true, time.Second - 1: true, time.Second: false, -time.Hour: false} {
		if got := v.has(now.Add(d)); got != want {
			t.Errorf("%v later: %v", d, got)
		}
	}
	for _, since := range []time.Time{{}, now.AddDate(1000, 0, 0)} {
		if v := validityOf(&table.Text{Ages: []table.Age{{Since: since}}}, now); !v.has(now.AddDate(100, 0, 0)) {
			t.Errorf("the age since %v ends at %v", since, v.until)
		}
	}
}

// eventOf applies an event to the store and returns it.
func eventOf(t *testing.T, c *resources.CachedResource, kind cache.Type, o *tree.Object) *cache.Event {
	t.Helper()
	cursor, err := c.Store.Watch(cache.Scope{}, c.Store.Snapshot().Version)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	if err := c.Store.Apply(kind, o, time.Now()); err != nil {
		t.Fatal(err)
	}
	events := make([]*cache.Event, 1)
	if n, _, err := cursor.Next(events); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	return events[0]
}

func TestEventsOfTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := agingFoos(t, 3, func(int) time.Duration { return 95 * time.Second })
		encoder, err := encoderFor(c, tableFormat)
		if err != nil {
			t.Fatal(err)
		}
		modified := agingFoo(1, 4, time.Now().Add(-95*time.Second))
		e := eventOf(t, c, cache.Modified, modified)
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
		c := agingFoos(t, 3, func(int) time.Duration { return time.Minute })
		encoder, err := encoderFor(c, tableFormat)
		if err != nil {
			t.Fatal(err)
		}
		e := eventOf(t, c, cache.Modified, agingFoo(1, 4, time.Now().Add(-time.Minute)))
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
