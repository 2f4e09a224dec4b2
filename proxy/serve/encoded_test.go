package serve

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/resources"
)

// foos are a collection of so many custom resources.
func foos(n int) *resources.CachedResource {
	var objects []*cache.Object
	for i := range n {
		objects = append(objects, foo(i, uint64(i+1)))
	}
	return &resources.CachedResource{
		Encoders: new(sync.Map),
		Store:    cache.New(cache.Options{HistoryAge: time.Minute, HistoryBytes: 1 << 20}, objects, uint64(n)),
		Resource: codec.Resource{
			Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
			Style: codec.Unstructured, Source: codec.JSON, Namespaced: true,
		},
	}
}

func foo(i int, version uint64) *cache.Object {
	name := fmt.Sprintf("f%06d", i)
	return &cache.Object{
		Key: cache.KeyOf("ns", name), RV: version,
		Data: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"}}`, name, version),
	}
}

// blocks returns the blocks of all runs, in order.
func blocks(t *testing.T, e *encoded, state *cache.Snapshot) (all []*splice.Block) {
	t.Helper()
	for run := range state.Runs(cache.Namespace("")) {
		b, err := e.block(splice.Gzip, run)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// A list of what has not changed compresses nothing, and one after k updates
// compresses k segments.
func TestUpdatesCostABlockEach(t *testing.T) {
	const objects, updates = 2000, 5
	c := foos(objects)
	for _, f := range []codec.Format{{}, {Encoding: codec.YAML}, {Encoding: codec.CBOR}, {Shape: codec.Metadata}} {
		encoder, err := encoderFor(c, f)
		if err != nil {
			t.Fatal(err)
		}
		reads := New(Options{Encoded: cache.NewBudget(1 << 30)})
		items, events := reads.items(encoder, encoder.Writer), encoded{}
		forms := []*encoded{&items}
		if f.Encoding != codec.YAML {
			events = reads.events(encoder)
			forms = append(forms, &events)
		}
		for _, e := range forms {
			before := blocks(t, e, c.Store.Snapshot())
			if made := news(before, blocks(t, e, c.Store.Snapshot())); made != 0 {
				t.Errorf("%+v: %d blocks of %d made again", f, made, len(before))
			}
			for i := range updates {
				version := c.Store.Snapshot().Version + 1
				if err := c.Store.Apply(cache.Modified, foo(i*objects/updates, version), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if made := news(before, blocks(t, e, c.Store.Snapshot())); made != updates {
				t.Errorf("%+v: %d blocks of %d made after %d updates", f, made, len(before), updates)
			}
		}
	}
}

// news counts the blocks that were not there before.
func news(before, after []*splice.Block) (n int) {
	old := map[*splice.Block]bool{}
	for _, b := range before {
		old[b] = true
	}
	for _, b := range after {
		if !old[b] {
			n++
		}
	}
	return n
}

// Blocks hold no more memory than the budget is charged.
func TestBlocksAreAsLongAsTheyAre(t *testing.T) {
	c := foos(2000)
	encoder, err := encoderFor(c, codec.Format{})
	if err != nil {
		t.Fatal(err)
	}
	for _, coding := range []splice.Coding{splice.Gzip, splice.Zstd} {
		budget := cache.NewBudget(1 << 30)
		items := New(Options{Encoded: budget}).items(encoder, encoder.Writer)
		held := 0
		for run := range c.Store.Snapshot().Runs(cache.Namespace("")) {
			b, err := items.block(coding, run)
			if err != nil {
				t.Fatal(err)
			}
			if held += cap(b.Data); cap(b.Data) > len(b.Data)*5/4 {
				t.Errorf("%v: %d bytes hold %d", coding, len(b.Data), cap(b.Data))
			}
		}
		if used := budget.Used(); used != int64(held) {
			t.Errorf("%v: %d bytes are charged for %d", coding, used, held)
		}
	}
}

// What does not fill a segment is not put into a block that others get: they
// would learn its length.
func TestPartsOfSegmentsAreNotShared(t *testing.T) {
	c := foos(100)
	encoder, err := encoderFor(c, codec.Format{})
	if err != nil {
		t.Fatal(err)
	}
	budget := cache.NewBudget(1 << 30)
	items := New(Options{Encoded: budget}).items(encoder, encoder.Writer)
	for run := range c.Store.Snapshot().Runs(cache.Single(cache.KeyOf("ns", "f000050"))) {
		if _, err := items.block(splice.Gzip, run); err != nil {
			t.Fatal(err)
		}
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are kept", used)
	}
}

// One reader alone of a part of a long segment holds an object of it at a time;
// whole segments, and short parts, stay in one piece.
func TestLongRunsAreBounded(t *testing.T) {
	long := foos(0)
	long.Store = cache.New(cache.Options{}, func() (all []*cache.Object) {
		for i := range 64 {
			o := foo(i, uint64(i+1))
			o.Data = append(o.Data, make([]byte, largestRun/32)...)
			all = append(all, o)
		}
		return all
	}(), 64)
	part := cache.Range{From: cache.KeyOf("ns", "f000010"), To: cache.KeyOf("ns", "f000020")}
	for _, row := range []struct {
		name  string
		state *cache.Snapshot
		keys  cache.Range
		most  int // objects in a piece
		all   int
	}{
		{"part of a long one", long.Store.Snapshot(), part, 1, 10},
		{"part of a short one", foos(64).Store.Snapshot(), part, 10, 10},
		{"whole long ones", long.Store.Snapshot(), cache.Range{}, 64, 64},
	} {
		most, all := 0, 0
		for r := range bounded(row.state.Runs(row.keys)) {
			most, all = max(most, len(r.Objects())), all+len(r.Objects())
		}
		if most > row.most || all != row.all || (row.most > 1 && most == 1) {
			t.Errorf("%s: %d objects, %d in a piece", row.name, all, most)
		}
	}
}
