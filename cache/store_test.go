package cache

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestApplyRejectsEventsThatContradictTheState(t *testing.T) {
	tests := []struct {
		name string
		typ  Type
		key  tree.Key
		rv   uint64
	}{
		{"added but present", Added, "a/x", 20},
		{"modified but absent", Modified, "a/y", 20},
		{"deleted but absent", Deleted, "a/y", 20},
		{"version below the state", Modified, "a/x", 9},
		{"version of the state", Modified, "a/x", 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
			err := s.Apply(tt.typ, testObject(tt.key, tt.rv), time.Now())
			if !errors.Is(err, ErrDiverged) {
				t.Fatalf("got %v", err)
			}
			if got := s.Snapshot(); got.Version != 10 || got.Len() != 1 {
				t.Fatalf("state changed: version %d, %d objects", got.Version, got.Len())
			}
		})
	}
}

func TestAKeyChangesOnceAtAVersion(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	apply(t, s, Modified, "a/x", 11)
	apply(t, s, Modified, "a/y", 11)
	if err := s.Apply(Modified, testObject("a/y", 11), time.Now()); !errors.Is(err, ErrDiverged) {
		t.Errorf("got %v", err)
	}
}

// A bookmark at the version would tell a client that it has the rest, too.
func TestReaderBetweenTwoEventsOfAVersionHasNotReachedIt(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	_, c := listAndWatch(t, s, Scope{})
	apply(t, s, Modified, "a/x", 11)
	apply(t, s, Modified, "a/y", 11)
	for _, want := range []uint64{10, 11} {
		if n, version, err := c.Next(make([]*Event, 1)); n != 1 || version != want || err != nil {
			t.Errorf("%d events, complete up to %d, want %d: %v", n, version, want, err)
		}
	}
}

// A watch may end between the deletions of one version.
func TestWatchIsResumedBeforeADeletion(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	check := func(want uint64) {
		t.Helper()
		if got := s.ResumeVersion(); got != want {
			t.Errorf("resumes from %d, want %d", got, want)
		}
	}
	check(10)
	for _, k := range []tree.Key{"a/x", "a/x", "a/y", "a/x", "a/y"} {
		apply(t, s, Deleted, k, 12)
		check(11)
	}
	if got := s.Stats().Events; got != 2 {
		t.Errorf("%d events", got)
	}
	if err := s.ApplyBookmark(12); err != nil { // an apiserver may send it between two deletions
		t.Fatal(err)
	}
	check(11)
	if err := s.ApplyBookmark(13); err != nil {
		t.Fatal(err)
	}
	check(13)
	apply(t, s, Added, "a/x", 14)
	check(14)
	if err := s.Apply(Deleted, testObject("a/y", 12), time.Now()); !errors.Is(err, ErrDiverged) {
		t.Errorf("an old deletion: %v", err)
	}
}

func TestBookmarkNeverLowersTheVersion(t *testing.T) {
	s := New(Options{}, nil, 10)
	if err := s.ApplyBookmark(9); !errors.Is(err, ErrDiverged) {
		t.Fatalf("got %v", err)
	}
	if err := s.ApplyBookmark(12); err != nil || s.Snapshot().Version != 12 {
		t.Fatalf("got %v, version %d", err, s.Snapshot().Version)
	}
}

func TestCloseEndsEveryCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{}, nil, 10)
		var wg sync.WaitGroup
		for _, scope := range []Scope{{}, {Namespace: "a"}, {Key: "a/x"}} {
			c := openWatch(t, s, scope, 10)
			wg.Go(func() {
				buf := make([]*Event, 10)
				for total := 0; ; {
					ready := c.Ready()
					n, _, err := c.Next(buf)
					total += n
					if err != nil {
						if !errors.Is(err, ErrClosed) || total != 1 {
							t.Errorf("scope %v ended after %d events: %v", scope, total, err)
						}
						return
					}
					if n == 0 {
						<-ready
					}
				}
			})
		}
		synctest.Wait()
		apply(t, s, Added, "a/x", 11)
		s.Close()
		wg.Wait()
		if _, err := s.Watch(Scope{}, 11); !errors.Is(err, ErrClosed) {
			t.Fatalf("watch of a closed store: %v", err)
		}
	})
}

// Each of ten thousand watches is of one object.
func TestEventWakesOnlyCursorsOfItsScope(t *testing.T) {
	s := New(Options{}, nil, 10)
	channels := make([]<-chan struct{}, 10_000)
	for i := range channels {
		channels[i] = openWatch(t, s, Scope{Key: tree.KeyOf("a", fmt.Sprint(i))}, 10).Ready()
	}
	apply(t, s, Added, "a/77", 11)
	for i, ready := range channels {
		select {
		case <-ready:
			if i != 77 {
				t.Fatalf("cursor of %d was woken", i)
			}
		default:
			if i == 77 {
				t.Fatal("cursor of 77 was not woken")
			}
		}
	}
}

type countingEncoder struct{ calls int }

func (e *countingEncoder) AppendEvent(dst []byte, t Type, o *tree.Object) ([]byte, error) {
	e.calls++
	return fmt.Appendf(dst, "%s %s", t, o.Key), nil
}

func (e *countingEncoder) DeletedFromSelection(o *tree.Object, rv uint64) (*tree.Object, error) {
	return &tree.Object{Key: o.Key + tree.Key(fmt.Sprintf(" from selection at %d", rv))}, nil
}

type filterFunc func(*tree.Object) bool

func (f filterFunc) Match(o *tree.Object) bool { return f(o) }

// See wire.md 7.5.
func TestEventTypeFollowsTheSelection(t *testing.T) {
	red := func(rv uint64) *tree.Object { return &tree.Object{Key: "a/x", RV: rv, Fields: []string{"red"}} }
	blue := func(rv uint64) *tree.Object { return &tree.Object{Key: "a/x", RV: rv, Fields: []string{"blue"}} }
	reds := filterFunc(func(o *tree.Object) bool { return o.Fields[0] == "red" })
	tests := []struct {
		name     string
		event    *Event
		want     Type
		concerns bool
		frame    string
	}{
		{"created, matches", &Event{Type: Added, Object: red(5)}, Added, true, "ADDED a/x"},
		{"created, does not match", &Event{Type: Added, Object: blue(5)}, 0, false, ""},
		{"matches before and after", &Event{Type: Modified, Object: red(5), Previous: red(4)}, Modified, true, "MODIFIED a/x"},
		{"begins to match", &Event{Type: Modified, Object: red(5), Previous: blue(4)}, Added, true, "ADDED a/x"},
		{"no longer matches", &Event{Type: Modified, RV: 5, Object: blue(5), Previous: red(4)}, Deleted, true, "DELETED a/x from selection at 5"},
		{"never matches", &Event{Type: Modified, Object: blue(5), Previous: blue(4)}, 0, false, ""},
		{"deleted, matched", &Event{Type: Deleted, Object: red(5), Previous: red(4)}, Deleted, true, "DELETED a/x"},
		{"deleted, did not match", &Event{Type: Deleted, Object: blue(5), Previous: blue(4)}, 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, concerns := tt.event.TypeFor(reds)
			if got != tt.want || concerns != tt.concerns {
				t.Fatalf("got %v %v", got, concerns)
			}
			if concerns {
				if frame, err := tt.event.Frame(nil, &countingEncoder{}, got); err != nil || string(frame) != tt.frame {
					t.Fatalf("frame %q, %v", frame, err)
				}
			}
		})
	}
}

// A bookmark that arrives after a proof does not contradict it; an event that the proof excludes
// does.
func TestProofExcludesEvents(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	if ok, err := s.ConfirmComplete(Silence{Last: 12, Version: 20}); ok || err != nil {
		t.Fatal("confirmed although event 12 is missing")
	}
	apply(t, s, Modified, "a/x", 12)
	if ok, err := s.ConfirmComplete(Silence{Last: 12, Version: 20}); !ok || err != nil || s.Snapshot().Version != 20 {
		t.Fatalf("version %d, %v", s.Snapshot().Version, err)
	}
	if err := s.ApplyBookmark(15); err != nil || s.Snapshot().Version != 20 {
		t.Fatalf("a late bookmark: %v, version %d", err, s.Snapshot().Version)
	}
	if err := s.Apply(Modified, testObject("a/x", 18), time.Now()); !errors.Is(err, ErrDiverged) {
		t.Fatalf("an excluded event: %v", err)
	}
	apply(t, s, Modified, "a/x", 21)
}

func TestFrameOfARecentEventIsEncodedOnce(t *testing.T) {
	s := New(Options{}, nil, 10)
	c := openWatch(t, s, Scope{}, 10)
	add := func(rv uint64) { apply(t, s, Added, tree.KeyOf("a", fmt.Sprint(rv)), rv) }
	add(11)
	buf := make([]*Event, 1)
	if n, _, err := c.Next(buf); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	enc, budget := &countingEncoder{}, tree.NewBudget(1<<20)
	for range 5 {
		if frame, err := buf[0].Frame(budget, enc, Added); err != nil || string(frame) != "ADDED a/11" {
			t.Fatalf("%q %v", frame, err)
		}
	}
	if enc.calls != 1 {
		t.Fatalf("encoded %d times", enc.calls)
	}
	for rv := range uint64(recentEvents + 1) {
		add(12 + rv)
	}
	if budget.Used() != 0 {
		t.Fatal("the frames of an old event are kept")
	}
	if frame, err := buf[0].Frame(budget, enc, Added); err != nil || string(frame) != "ADDED a/11" {
		t.Fatalf("%q %v", frame, err)
	}
}

// No reader can go on while events are removed.
func TestOldEventsLeaveInPieces(t *testing.T) {
	s := New(Options{HistoryAge: time.Minute}, nil, 10)
	start := time.Now()
	add := func(rv uint64, at time.Time) {
		t.Helper()
		if err := s.Apply(Added, testObject(tree.Key(fmt.Sprint(rv)), rv), at); err != nil {
			t.Fatal(err)
		}
	}
	for rv := range uint64(2 * trimPiece) {
		add(11+rv, start)
	}
	for _, want := range []int{trimPiece, 1, 1} {
		_, more := s.history.trim(start.Add(time.Hour))
		if got := s.Stats().Events; got != want || more != (want == trimPiece) {
			t.Errorf("%d events are left, want %d; more is %v", got, want, more)
		}
	}
	add(1000, start.Add(time.Hour))
	if got := s.Stats().Events; got != 1 {
		t.Errorf("%d events are left", got)
	}
}

// Large objects reach recentBytes before recentEvents. Events that leave the history leave the
// count.
func TestFramesKeepTheirMemoryLimit(t *testing.T) {
	s := New(Options{HistoryBytes: 2 * recentBytes}, nil, 1)
	data := make([]byte, recentBytes/8)
	for rv := uint64(2); rv < 100; rv++ {
		typ := Modified
		if rv == 2 {
			typ = Added
		}
		if err := s.Apply(typ, &tree.Object{Key: "a/x", RV: rv, Data: data}, time.Now()); err != nil {
			t.Fatal(err)
		}
		h, recent := &s.history.all.events, 0
		for i := range h.n {
			if !h.at(i).frames.Retired() {
				recent++
			}
		}
		if s.history.recent.events != recent || s.history.recent.bytes != int64(recent*len(data)) || recent > 8 {
			t.Fatalf("%d of %d events are recent; counted %+v", recent, h.n, s.history.recent)
		}
	}
}

// The reader takes the channel after the store has ended, with one event left to read.
func TestReadyAfterCloseIsClosed(t *testing.T) {
	s := New(Options{}, nil, 1)
	c := openWatch(t, s, Scope{}, 1)
	apply(t, s, Added, "a/x", 2)
	s.Close()
	ready := c.Ready()
	if n, _, err := c.Next(make([]*Event, 2)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	select {
	case <-ready:
	default:
		t.Fatal("the channel is open")
	}
	if _, _, err := c.Next(make([]*Event, 2)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}
