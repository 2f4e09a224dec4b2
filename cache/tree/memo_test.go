package tree

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func segmentOf(n int) *Segment {
	objects := make([]*Object, n)
	for i := range objects {
		objects[i] = object(Key(fmt.Sprintf("k%03d", i)), 1)
	}
	return newSegment(objects)
}

// builder counts how often it builds.
type builder struct{ calls atomic.Int32 }

func (b *builder) build(size int64) func([]*Object) (any, int64, error) {
	return func(objects []*Object) (any, int64, error) {
		return fmt.Sprintf("%d objects, build %d", len(objects), b.calls.Add(1)), size, nil
	}
}

func TestMemoIsBuiltOnce(t *testing.T) {
	s, b, budget := segmentOf(20), &builder{}, NewBudget(1000)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if v, err := s.Memo(budget, "x", b.build(10)); v != "20 objects, build 1" || err != nil {
				t.Error(v, err)
			}
		})
	}
	wg.Wait()
	if budget.Used() != 10 {
		t.Errorf("%d bytes are used", budget.Used())
	}
}

func TestBudgetEvictsUnusedMemosFirst(t *testing.T) {
	budget, b := NewBudget(1000), &builder{}
	var segments []*Segment
	for range 50 {
		segments = append(segments, segmentOf(3))
	}
	memo := func(s *Segment) {
		if _, err := s.Memo(budget, "x", b.build(100)); err != nil {
			t.Fatal(err)
		}
	}
	hot := segments[0]
	for _, s := range segments {
		memo(s)
		memo(hot)
		if budget.Used() > 1000 {
			t.Fatalf("%d bytes are used", budget.Used())
		}
	}
	if hot.memos.find("x") == nil {
		t.Error("a memo in constant use was evicted")
	}
	kept := 0
	for _, s := range segments {
		if s.memos.find("x") != nil {
			kept++
		}
	}
	if kept != 10 || budget.Evicted() != int64(len(segments)-kept)*100 {
		t.Errorf("%d memos are kept, the limit is 10; %d bytes were evicted", kept, budget.Evicted())
	}
	if _, err := segments[1].Memo(budget, "large", b.build(2000)); err != nil || segments[1].memos.find("large") != nil {
		t.Error("a memo larger than the budget is kept")
	}
	runtime.KeepAlive(segments)
}

func TestNilBudgetKeepsNoMemo(t *testing.T) {
	s, b := segmentOf(3), &builder{}
	for range 3 {
		if _, err := s.Memo(nil, "x", b.build(1)); err != nil {
			t.Fatal(err)
		}
	}
	if b.calls.Load() != 3 {
		t.Errorf("built %d times", b.calls.Load())
	}
}

func TestUpdateRetiresTheMemosOfOneSegmentOnly(t *testing.T) {
	var objects []*Object
	for i := range 300 {
		objects = append(objects, object(Key(fmt.Sprintf("a/%03d", i)), 1))
	}
	tree, budget, b := New(objects, nil), NewBudget(1<<20), &builder{}
	list := func() {
		for run := range tree.Runs(Range{}) {
			if _, err := run.Segment.Memo(budget, "x", b.build(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	list()
	first := b.calls.Load()
	tree = tree.With(objects[123], object("a/123", 11))
	if used := budget.Used(); used != int64(first-1)*10 {
		t.Errorf("%d bytes are used after an update; there were %d memos", used, first)
	}
	list()
	if got := b.calls.Load() - first; got != 1 {
		t.Errorf("%d segments were encoded again", got)
	}
}

// Only readers of the past have a retired segment.
func TestMemoThatIsNotKeptEvictsNoOther(t *testing.T) {
	retired := func() *Segment {
		s := segmentOf(3)
		s.memos.Retire()
		return s
	}
	for name, tt := range map[string]struct {
		segment func() *Segment
		size    int64
	}{"of a retired segment": {retired, 60}, "above the limit": {func() *Segment { return segmentOf(3) }, 101}} {
		t.Run(name, func(t *testing.T) {
			budget, b := NewBudget(100), &builder{}
			kept := []*Segment{segmentOf(3), segmentOf(3), segmentOf(3)}
			for _, s := range kept {
				if _, err := s.Memo(budget, "x", b.build(30)); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				if _, err := tt.segment().Memo(budget, "x", b.build(tt.size)); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range kept {
				if _, ok := s.Recall("x"); !ok {
					t.Errorf("memo %d is evicted", i)
				}
			}
			if n := budget.Used(); n != 90 {
				t.Errorf("%d bytes are used", n)
			}
		})
	}
}

// An update may retire a segment whose memo is just being added.
func TestRetiredSegmentKeepsNoMemo(t *testing.T) {
	budget, b := NewBudget(1<<30), &builder{}
	for range 20_000 {
		s := segmentOf(1)
		var retired sync.WaitGroup
		retired.Go(s.memos.Retire)
		if _, err := s.Memo(budget, "x", b.build(1)); err != nil {
			t.Fatal(err)
		}
		retired.Wait()
		if _, ok := s.Recall("x"); ok {
			t.Fatal("it keeps a memo")
		}
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are used", n)
	}
}

func TestMemosAreFreedWithTheirSegment(t *testing.T) {
	budget, b := NewBudget(1000), &builder{}
	func() {
		if _, err := segmentOf(3).Memo(budget, "x", b.build(100)); err != nil {
			t.Fatal(err)
		}
	}()
	for range 100 {
		runtime.GC()
		if budget.Used() == 0 {
			return
		}
		time.Sleep(time.Millisecond) // the runtime decides when cleanups run
	}
	t.Errorf("%d bytes are used", budget.Used())
}

func TestSegmentKeepsFewMemosOfParts(t *testing.T) {
	s, b, budget := segmentOf(20), &builder{}, NewBudget(1<<20)
	memo := func(r Run) {
		if _, err := r.Memo(budget, "x", b.build(1)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(1000) {
		memo(Run{s, i + 2})
		memo(Run{s, 1})
	}
	if n := len(s.memos.parts()); n > maxParts || n < maxParts/2 {
		t.Errorf("%d memos of parts, at most %d", n, maxParts)
	}
	before := b.calls.Load()
	memo(Run{s, 1})
	memo(Run{s, firstBits(20)})
	memo(Run{s, firstBits(20)})
	if n := b.calls.Load() - before; n != 1 {
		t.Errorf("%d builds, want 1: the part in use is kept, the whole segment is always", n)
	}
}

func TestRunIsRereadOnceAllOfItsObjectsHaveBeen(t *testing.T) {
	s := segmentOf(20)
	for i, step := range []struct {
		set  uint64
		want bool
	}{{0b11, false}, {0b11, true}, {0b01, true}, {0b110, false}, {0b111, true}} {
		if got := (Run{s, step.set}).Reread(); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// Otherwise selections that nobody repeats would evict what everybody reads.
func TestMemosOfPartsAreEvictedFirst(t *testing.T) {
	const whole, size, every = 5, 1000, 2
	budget, b := NewBudget(10*size), &builder{}
	var kept []*Segment
	for i := range 200 {
		s := segmentOf(20)
		kept = append(kept, s)
		r := Run{s, firstBits(20)}
		if i >= whole {
			r.Set = 1
		}
		if _, err := r.Memo(budget, "x", b.build(size)); err != nil {
			t.Fatal(err)
		}
		if i < whole || i%every != 0 {
			continue
		}
		for j, s := range kept[:whole] {
			if _, ok := s.Recall("x"); !ok {
				t.Fatalf("the memo of segment %d was evicted by part %d", j, i)
			}
		}
	}
	if used := budget.Used(); used > 10*size || used < 5*size {
		t.Errorf("%d bytes are used", used)
	}
}

func TestLoweredBudgetEvictsMemos(t *testing.T) {
	budget, b := NewBudget(1000), &builder{}
	var kept []*Segment
	for range 10 {
		s := segmentOf(20)
		if _, err := s.Memo(budget, "x", b.build(100)); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, s)
	}
	budget.SetLimit(300)
	if used := budget.Used(); used > 300 || used == 0 {
		t.Errorf("%d bytes are used with a limit of 300", used)
	}
	budget.SetLimit(0)
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are used with a limit of 0", used)
	}
	runtime.KeepAlive(kept)
}
