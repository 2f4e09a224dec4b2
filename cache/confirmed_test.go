package cache

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rollCallOf returns a roll call of objects at a version.
func rollCallOf(t *testing.T, version uint64, objects map[Key]uint64) *RollCall {
	t.Helper()
	r := &RollCall{Version: version}
	for _, k := range slices.Sorted(maps.Keys(objects)) {
		if err := r.Add(k, objects[k]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func apply(t *testing.T, s *Store, typ Type, k Key, rv uint64) {
	t.Helper()
	if err := s.Apply(typ, testObject(k, rv), time.Now()); err != nil {
		t.Fatal(err)
	}
}

func checkVersions(t *testing.T, s *Store, newest, complete uint64) {
	t.Helper()
	if got := s.Snapshot().Version; got != newest || s.CompleteVersion() != complete {
		t.Fatalf("newest state at %d, history complete to %d; want %d and %d", got, s.CompleteVersion(), newest, complete)
	}
}

func TestRollCallKeysMustAscend(t *testing.T) {
	r := &RollCall{Version: 10}
	for _, k := range []Key{"a/x", "a/y"} {
		if err := r.Add(k, 5); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []Key{"a/y", "a/a"} {
		if r.Add(k, 5) == nil {
			t.Errorf("%s is accepted after a/y", k)
		}
	}
}

func TestRollCallConfirmsOnlyTheListedState(t *testing.T) {
	for _, tt := range []struct {
		name   string
		listed map[Key]uint64
		equal  bool
	}{
		{"equal", map[Key]uint64{"a/x": 5, "a/y": 6}, true},
		{"newer object", map[Key]uint64{"a/x": 5, "a/y": 12}, false},
		{"one more", map[Key]uint64{"a/x": 5, "a/y": 6, "a/z": 12}, false},
		{"one more at the start", map[Key]uint64{"a/a": 12, "a/x": 5, "a/y": 6}, false},
		{"one less", map[Key]uint64{"a/x": 5}, false},
		{"another", map[Key]uint64{"a/x": 5, "a/z": 6}, false},
		{"nothing", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{}, []*Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
			if got := s.ConfirmState(rollCallOf(t, 15, tt.listed)); got != tt.equal {
				t.Fatalf("confirmed: %v", got)
			}
			if tt.equal {
				checkVersions(t, s, 15, 10)
			} else {
				checkVersions(t, s, 10, 10)
			}
		})
	}
}

func TestRollCallIsComparedAgainAfterEachEvent(t *testing.T) {
	s := New(Options{}, []*Object{testObject("a/x", 5)}, 10)
	changed := s.Changed()
	if s.ConfirmState(rollCallOf(t, 15, map[Key]uint64{"a/y": 12})) {
		t.Fatal("confirmed another state")
	}
	apply(t, s, Deleted, "a/x", 11)
	checkVersions(t, s, 11, 11)
	<-changed
	changed = s.Changed()
	apply(t, s, Added, "a/y", 12)
	checkVersions(t, s, 15, 12)
	<-changed
}

// An object that was created and deleted before the roll call leaves no trace in it. Its events may
// arrive afterwards.
func TestLateEventsFollowAConfirmedState(t *testing.T) {
	s := New(Options{}, []*Object{testObject("a/x", 5)}, 10)
	before, err := s.Watch(Scope{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !s.ConfirmState(rollCallOf(t, 15, map[Key]uint64{"a/x": 5})) {
		t.Fatal("not confirmed")
	}
	confirmed, after, err := s.ListAndWatch(Scope{})
	if err != nil || confirmed.Version != 15 {
		t.Fatal(confirmed.Version, err)
	}
	apply(t, s, Added, "a/late", 12)
	checkVersions(t, s, 15, 12)
	if got, err := s.At(15); err != nil || got.Len() != 1 || s.Snapshot().Len() != 1 {
		t.Fatal("the confirmed state has changed", err)
	}
	if _, err := s.At(13); !errors.Is(err, ErrAhead) {
		t.Fatal("the state at a version between is known", err)
	}
	apply(t, s, Deleted, "a/late", 14)
	apply(t, s, Added, "a/z", 20)
	checkVersions(t, s, 20, 20)
	if got, err := s.At(15); err != nil || got.Len() != 1 {
		t.Fatal("the history contradicts the confirmed state", err)
	}
	for cursor, want := range map[*Cursor][]uint64{before: {12, 14, 20}, after: {20}} {
		buf := make([]*Event, 10)
		n, version, err := cursor.Next(buf)
		var got []uint64
		for _, e := range buf[:n] {
			got = append(got, e.RV)
		}
		if diff := cmp.Diff(want, got); diff != "" || version != 20 || err != nil {
			t.Fatalf("version %d, %v:\n%s", version, err, diff)
		}
	}
}

func TestCursorNeverReportsAConfirmedVersionAsDelivered(t *testing.T) {
	s := New(Options{}, []*Object{testObject("a/x", 5)}, 10)
	c, err := s.Watch(Scope{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	s.ConfirmState(rollCallOf(t, 15, map[Key]uint64{"a/x": 5}))
	if version, err := c.CaughtUpVersion(); version != 10 || err != nil {
		t.Fatal(version, err)
	}
	from, err := s.Watch(Scope{}, 15)
	if err != nil {
		t.Fatal(err)
	}
	if version, err := from.CaughtUpVersion(); version != 15 || err != nil {
		t.Fatal(version, err)
	}
}

func TestSkipToConfirmedNeedsTheConfirmedState(t *testing.T) {
	s := New(Options{}, []*Object{testObject("a/x", 5)}, 10)
	_, c, err := s.ListAndWatch(Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.SkipToConfirmed(); got != 0 {
		t.Fatal("skipped without roll call to", got)
	}
	apply(t, s, Added, "a/y", 11)
	s.ConfirmState(rollCallOf(t, 15, map[Key]uint64{"a/x": 5, "a/y": 11}))
	if got := c.SkipToConfirmed(); got != 0 {
		t.Fatal("skipped an event that is left to read, to", got)
	}
	buf := make([]*Event, 10)
	if n, _, err := c.Next(buf); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got := c.SkipToConfirmed(); got != 15 {
		t.Fatal("skipped to", got)
	}
	apply(t, s, Added, "a/late", 12)
	if n, version, err := c.Next(buf); n != 0 || version != 15 || err != nil {
		t.Fatal("read a late event", n, version, err)
	}
	_, other, err := s.ListAndWatch(Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := other.Next(buf); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if got := other.SkipToConfirmed(); got != 0 {
		t.Fatal("the present state is not the confirmed one, skipped to", got)
	}
}

func TestConfirmedStatesAreBounded(t *testing.T) {
	s := New(Options{}, nil, 10)
	for version := uint64(11); version < 11+2*maxConfirmed; version++ {
		if !s.ConfirmState(rollCallOf(t, version, nil)) {
			t.Fatal("not confirmed")
		}
	}
	if n := len(s.confirmed); n != maxConfirmed {
		t.Fatal(n)
	}
	if _, err := s.At(11); !errors.Is(err, ErrAhead) {
		t.Fatal(err)
	}
	if err := s.ApplyBookmark(1 << 20); err != nil || len(s.confirmed) != 0 {
		t.Fatal(err, len(s.confirmed))
	}
}

// The events of the model reach the store late, and rolls are called in between.
func TestRollCallsOfALaggingStoreShowTheStateOfTheirVersion(t *testing.T) {
	confirmations, lists := 0, 0
	for seed := range uint64(4) {
		p := newPair(t, seed, Options{HistoryAge: time.Hour, HistoryBytes: 1 << 30})
		p.keys = p.keys[:6] // few, so that states repeat
		var late []func()
		type listWatch struct {
			state  *Snapshot
			cursor *Cursor
		}
		var readers []listWatch
		for range 300 {
			late = append(late, p.commit())
			for len(late) > 0 && p.rnd.IntN(3) > 0 {
				late[0]()
				late = late[1:]
			}
			if p.rnd.IntN(4) == 0 && p.store.ConfirmState(rollCallOf(t, p.version, p.model.last().objects)) {
				confirmations++
			}
			at, err := p.store.At(p.store.Snapshot().Version)
			if err != nil {
				t.Fatal(err)
			}
			p.checkSnapshot(at)
			if p.rnd.IntN(10) == 0 {
				state, c, err := p.store.ListAndWatch(Scope{})
				if err != nil {
					t.Fatal(err)
				}
				if state.Version > p.store.CompleteVersion() {
					lists++
				}
				readers = append(readers, listWatch{state, c})
			}
		}
		for _, apply := range late {
			apply()
		}
		for _, r := range readers {
			all := &reader{cursor: r.cursor}
			all.read(t, 1000)
			if diff := cmp.Diff(p.model.since(Scope{}, r.state.Version), all.got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, events after the list at %d:\n%s", seed, r.state.Version, diff)
			}
		}
	}
	if confirmations == 0 || lists == 0 {
		t.Fatalf("%d confirmations, %d lists of a confirmed state", confirmations, lists)
	}
}

// A reader that decides by CompleteVersion must find a snapshot at that version or above.
func TestSnapshotIsNeverBehindCompleteVersion(t *testing.T) {
	s := New(Options{}, nil, 10)
	const last = 20_000
	var writer sync.WaitGroup
	writer.Go(func() {
		for v := uint64(11); v <= last; v++ {
			if err := s.ApplyBookmark(v); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for complete := uint64(0); complete < last; {
		complete = s.CompleteVersion()
		if shown := s.Snapshot().Version; shown < complete {
			t.Errorf("the store is complete up to %d and shows %d", complete, shown)
			break
		}
	}
	writer.Wait()
}

// More deletions of one version may follow, so a probe watch from this version proves nothing.
func TestProbeWatchProvesNothingAfterADeletion(t *testing.T) {
	s := New(Options{}, []*Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	if err := s.Apply(Deleted, testObject("a/x", 12), time.Now()); err != nil {
		t.Fatal(err)
	}
	if s.ConfirmComplete(12, 20) || s.CompleteVersion() != 12 {
		t.Errorf("complete up to %d", s.CompleteVersion())
	}
	if err := s.Apply(Deleted, testObject("a/y", 12), time.Now()); err != nil {
		t.Error(err)
	}
}
