package encode

import (
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/test/support/servetest"
)

// blocks returns the compressed blocks of all runs in order.
func blocks(t *testing.T, e *Segments, state *cache.Snapshot) (all []*splice.Block) {
	t.Helper()
	for run := range state.Runs(tree.Namespace("")) {
		b, err := e.Block(splice.Gzip, run)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

func TestUpdateCompressesOneSegmentAgain(t *testing.T) {
	const objects, updates = 2000, 5
	c := servetest.Foos(objects)
	for _, f := range []codec.Format{{}, {Encoding: codec.YAML}, {Encoding: codec.CBOR}, {Shape: codec.Metadata}} {
		encoder, err := FormatFor(c, f)
		if err != nil {
			t.Fatal(err)
		}
		budget := tree.NewBudget(1 << 30)
		encoders := []*Segments{NewSegments(encoder, budget, false, false)}
		if f.Encoding != codec.YAML {
			encoders = append(encoders, NewSegments(encoder, budget, false, true))
		}
		for _, e := range encoders {
			before := blocks(t, e, c.Store.Snapshot())
			if made := countNew(before, blocks(t, e, c.Store.Snapshot())); made != 0 {
				t.Errorf("%+v: %d blocks of %d are new without an update", f, made, len(before))
			}
			for i := range updates {
				version := c.Store.Snapshot().Version + 1
				if err := (&cache.Writer{Store: c.Store}).Apply(cache.Modified, servetest.Foo(i*objects/updates, version), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if made := countNew(before, blocks(t, e, c.Store.Snapshot())); made != updates {
				t.Errorf("%+v: %d blocks of %d are new after %d updates", f, made, len(before), updates)
			}
		}
	}
}

// countNew counts the blocks of after that are not in before.
func countNew(before, after []*splice.Block) (n int) {
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

func TestItemsOfAListAreNoInitialEvents(t *testing.T) {
	c := servetest.Foos(64)
	encoder, err := FormatFor(c, codec.Format{Shape: codec.Metadata})
	if err != nil {
		t.Fatal(err)
	}
	budget := tree.NewBudget(1 << 30)
	items, events := NewSegments(encoder, budget, false, false), NewSegments(encoder, budget, false, true)
	for run := range c.Store.Snapshot().Runs(tree.Namespace("")) {
		var texts [2]string
		var plain [2]int64
		for i, e := range []*Segments{items, events} {
			b, err := e.Block(splice.Gzip, run)
			if err != nil {
				t.Fatal(err)
			}
			text, err := e.text(run)
			if err != nil {
				t.Fatal(err)
			}
			texts[i], plain[i] = string(text.Bytes), int64(b.Plain)
			if plain[i] != int64(len(text.Bytes)) {
				t.Errorf("events %v: a block of %d bytes of a text of %d", e.events, plain[i], len(text.Bytes))
			}
		}
		if texts[0] == texts[1] || !strings.Contains(texts[1], `"type":"ADDED"`) {
			t.Errorf("the events are %.60s", texts[1])
		}
	}
}

func TestBudgetIsChargedWhatBlocksHold(t *testing.T) {
	c := servetest.Foos(2000)
	encoder, err := FormatFor(c, codec.Format{})
	if err != nil {
		t.Fatal(err)
	}
	for _, coding := range []splice.Coding{splice.Gzip, splice.Zstd} {
		budget := tree.NewBudget(1 << 30)
		items := NewSegments(encoder, budget, false, false)
		held := 0
		for run := range c.Store.Snapshot().Runs(tree.Namespace("")) {
			b, err := items.Block(coding, run)
			if err != nil {
				t.Fatal(err)
			}
			if held += cap(b.Data); cap(b.Data) > len(b.Data)*5/4 {
				t.Errorf("%v: a block of %d bytes holds %d", coding, len(b.Data), cap(b.Data))
			}
		}
		if used := budget.Used(); used != int64(held) {
			t.Errorf("%v: %d bytes are charged, %d held", coding, used, held)
		}
	}
}

// A shared block would tell a reader of a part of the segment how long the rest is.
func TestPartsOfSegmentsAreNotMemoized(t *testing.T) {
	c := servetest.Foos(100)
	encoder, err := FormatFor(c, codec.Format{})
	if err != nil {
		t.Fatal(err)
	}
	budget := tree.NewBudget(1 << 30)
	items := NewSegments(encoder, budget, false, false)
	for run := range c.Store.Snapshot().Runs(tree.Single(tree.KeyOf("ns", "f000050"))) {
		if _, err := items.Block(splice.Gzip, run); err != nil {
			t.Fatal(err)
		}
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are memoized", used)
	}
}

// A selection of a part of a segment shares the encoding of exactly this part, if it is large enough to pay.
func TestSelectedPartsOfSegmentsAreMemoizedApart(t *testing.T) {
	c := servetest.Foos(48)
	for _, f := range []codec.Format{{}, {Encoding: codec.YAML}, {Encoding: codec.CBOR}} {
		encoder, err := FormatFor(c, f)
		if err != nil {
			t.Fatal(err)
		}
		budget := tree.NewBudget(1 << 30)
		e := NewSegments(encoder, budget, true, false)
		for run := range c.Store.Snapshot().Runs(tree.Namespace("")) {
			parts := map[string]tree.Run{"half": {Segment: run.Segment, Set: 0x555555555555}, "other half": {Segment: run.Segment, Set: 0xaaaaaaaaaaaa}, "few": {Segment: run.Segment, Set: 0x111}}
			for name, part := range parts {
				first, err := e.Block(splice.Gzip, part)
				if err != nil {
					t.Fatal(err)
				}
				again, err := e.Block(splice.Gzip, part)
				if err != nil {
					t.Fatal(err)
				}
				if shared := first == again; shared != (name != "few") {
					t.Errorf("%+v, %s of a segment: shared is %v", f, name, shared)
				}
				alone, err := e.compress(splice.Gzip, part.Objects())
				if err != nil {
					t.Fatal(err)
				}
				if first.Plain != alone.Plain {
					t.Errorf("%+v, %s of a segment has a block of %d bytes, the objects alone %d", f, name, first.Plain, alone.Plain)
				}
			}
		}
	}
}
