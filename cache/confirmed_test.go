package cache

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/cache/tree"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// confirmState applies an inventory that does not contradict the store.
func confirmState(t *testing.T, s *Writer, r *Inventory) bool {
	t.Helper()
	reached, err := s.ConfirmState(r)
	if err != nil {
		t.Fatal(err)
	}
	return reached
}

// inventoryOf returns an inventory of objects at a version.
func inventoryOf(t *testing.T, version uint64, objects map[tree.Key]uint64) *Inventory {
	t.Helper()
	r := &Inventory{Version: version}
	for _, k := range slices.Sorted(maps.Keys(objects)) {
		if err := r.Add(k, objects[k]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func apply(t *testing.T, s *Writer, typ Type, k tree.Key, rv uint64) {
	t.Helper()
	if err := s.Apply(typ, testObject(k, rv), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// openWatch returns a cursor that is open until the end of the test.
func openWatch(t *testing.T, s *Writer, scope Scope, version uint64) *Cursor {
	t.Helper()
	c, err := s.Watch(scope, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// listAndWatch is openWatch from the newest state, which it returns.
func listAndWatch(t *testing.T, s *Writer, scope Scope) (*Snapshot, *Cursor) {
	t.Helper()
	state, c, err := s.ListAndWatch(scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return state, c
}

func checkVersions(t *testing.T, s *Writer, newest, complete uint64) {
	t.Helper()
	if got := s.Snapshot().Version; got != newest || s.Streamed() != complete {
		t.Fatalf("newest state at %d, history complete to %d; want %d and %d", got, s.Streamed(), newest, complete)
	}
}

func TestInventoryKeysMustAscend(t *testing.T) {
	r := &Inventory{Version: 10}
	for _, k := range []tree.Key{"a/x", "a/y"} {
		if err := r.Add(k, 5); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []tree.Key{"a/y", "a/a"} {
		if r.Add(k, 5) == nil {
			t.Errorf("%s is accepted after a/y", k)
		}
	}
}

func TestInventoryConfirmsOnlyTheListedState(t *testing.T) {
	for _, tt := range []struct {
		name   string
		listed map[tree.Key]uint64
		equal  bool
	}{
		{"equal", map[tree.Key]uint64{"a/x": 5, "a/y": 6}, true},
		{"newer object", map[tree.Key]uint64{"a/x": 5, "a/y": 12}, false},
		{"one more", map[tree.Key]uint64{"a/x": 5, "a/y": 6, "a/z": 12}, false},
		{"one more at the start", map[tree.Key]uint64{"a/a": 12, "a/x": 5, "a/y": 6}, false},
		{"one less", map[tree.Key]uint64{"a/x": 5}, false},
		{"another", map[tree.Key]uint64{"a/x": 5, "a/z": 6}, false},
		{"nothing", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
			if got := confirmState(t, s, inventoryOf(t, 15, tt.listed)); got != tt.equal {
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

func TestInventoryIsComparedAgainAfterEachEvent(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	changed := s.Changed()
	if confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/y": 12})) {
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

// An object that was created and deleted before the inventory leaves no trace in it. Its events may
// arrive afterwards.
func TestLateEventsFollowAConfirmedState(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	before := openWatch(t, s, Scope{}, 10)
	if !confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5})) {
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
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	c := openWatch(t, s, Scope{}, 10)
	confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5}))
	if version, err := c.CaughtUpVersion(); version != 10 || err != nil {
		t.Fatal(version, err)
	}
	from := openWatch(t, s, Scope{}, 15)
	if version, err := from.CaughtUpVersion(); version != 15 || err != nil {
		t.Fatal(version, err)
	}
}

func TestSkipToConfirmedNeedsTheConfirmedState(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	_, c := listAndWatch(t, s, Scope{})
	if got := c.SkipToConfirmed(); got != 0 {
		t.Fatal("skipped without inventory to", got)
	}
	apply(t, s, Added, "a/y", 11)
	confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5, "a/y": 11}))
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
	_, other := listAndWatch(t, s, Scope{})
	if n, _, err := other.Next(buf); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if got := other.SkipToConfirmed(); got != 0 {
		t.Fatal("the present state is not the confirmed one, skipped to", got)
	}
}

// An inventory of an older version confirms that version only, and leaves what newer ones have begun.
func TestInventoryOfAnOlderVersionConfirmsThatVersionOnly(t *testing.T) {
	present := map[tree.Key]uint64{"a/x": 5}
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	confirmState(t, s, inventoryOf(t, 20, present))
	for range 2 {
		confirmState(t, s, inventoryOf(t, 15, present))
		checkVersions(t, s, 20, 10)
		if state, err := s.At(15); err != nil || state.Version != 15 || state.Len() != 1 {
			t.Fatal(state, err)
		}
		if n := len(s.ledger.confirmed); n != 2 {
			t.Fatal(n, "confirmed states")
		}
	}
	for _, version := range []uint64{14, 16, 19} {
		if _, err := s.At(version); !errors.Is(err, ErrAhead) {
			t.Error("the state at a version between is known", version, err)
		}
	}
	confirmState(t, s, inventoryOf(t, 18, map[tree.Key]uint64{"a/x": 5, "a/late": 17}))
	if _, err := s.At(18); !errors.Is(err, ErrAhead) {
		t.Error("another state is confirmed", err)
	}
	apply(t, s, Added, "a/late", 17)
	if state, err := s.At(18); err != nil || state.Len() != 2 {
		t.Error("not confirmed once the event has arrived", err)
	}
	if state, err := s.At(15); err != nil || state.Len() != 1 {
		t.Error("the history contradicts the confirmed state", err)
	}
	checkVersions(t, s, 20, 17)
}

func TestInventoryOfAnOlderVersionLeavesANewerOneDue(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	confirmState(t, s, inventoryOf(t, 20, map[tree.Key]uint64{"a/x": 5, "a/y": 18}))
	confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5}))
	confirmState(t, s, inventoryOf(t, 16, map[tree.Key]uint64{"a/x": 16}))
	checkVersions(t, s, 15, 10)
	apply(t, s, Added, "a/y", 18)
	checkVersions(t, s, 20, 18)
}

func TestConfirmedStatesAreBounded(t *testing.T) {
	s := New(Options{}, nil, 10)
	for version := uint64(11); version < 11+2*maxConfirmed; version++ {
		if !confirmState(t, s, inventoryOf(t, version, nil)) {
			t.Fatal("not confirmed")
		}
	}
	if n := len(s.ledger.confirmed); n != maxConfirmed {
		t.Fatal(n)
	}
	if _, err := s.At(11); !errors.Is(err, ErrAhead) {
		t.Fatal(err)
	}
	if err := s.ApplyBookmark(1 << 20); err != nil || len(s.ledger.confirmed) != 0 {
		t.Fatal(err, len(s.ledger.confirmed))
	}
}

// The events of the model reach the store late, and rolls are called in between.
func TestInventoriesOfALaggingStoreShowTheStateOfTheirVersion(t *testing.T) {
	confirmations, older, lists := 0, 0, 0
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
			if p.rnd.IntN(4) == 0 && confirmState(t, p.store, inventoryOf(t, p.version, p.model.last().objects)) {
				confirmations++
			}
			if old := p.store.Streamed() + 1 + p.rnd.Uint64N(8); p.rnd.IntN(4) == 0 && old <= p.version {
				confirmState(t, p.store, inventoryOf(t, old, p.model.at(old).objects)) // whatever newer one is confirmed or pending
				if state, err := p.store.At(old); err == nil {
					older++
					p.checkSnapshot(state)
				}
			}
			at := p.store.Snapshot()
			if again, err := p.store.At(at.Version); err == nil {
				at = again
			} else if at.Reaches(at.Version) {
				t.Fatal(err)
			}
			p.checkSnapshot(at)
			if p.rnd.IntN(10) == 0 {
				state, c := listAndWatch(t, p.store, Scope{})
				if state.Version > p.store.Streamed() {
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
			want := slices.DeleteFunc(p.model.since(Scope{}, r.state.Version), func(e modelEvent) bool { return e.RV == r.state.Version })
			if diff := cmp.Diff(want, all.got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, events after the list at %d:\n%s", seed, r.state.Version, diff)
			}
		}
	}
	if confirmations == 0 || older == 0 || lists == 0 {
		t.Fatalf("%d confirmations, %d of older versions, %d lists of a confirmed state", confirmations, older, lists)
	}
}

// A reader that decides by Streamed must find a snapshot at that version or above.
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
		complete = s.Streamed()
		if shown := s.Snapshot().Version; shown < complete {
			t.Errorf("the store is complete up to %d and shows %d", complete, shown)
			break
		}
	}
	writer.Wait()
}

// A reader of more than the listed scope may lack events outside of it.
func TestInventoryOfAScopeProvesItsStateToItsReaderOnly(t *testing.T) {
	field := 0
	s := New(Options{Index: &field}, []*tree.Object{
		{Key: "a/x", RV: 5, Fields: []string{"n1"}}, {Key: "b/y", RV: 6, Fields: []string{"n2"}}, {Key: "b/z", RV: 7, Fields: []string{"n1"}},
	}, 10)
	listed := map[Scope]map[tree.Key]uint64{
		{Namespace: "b"}:             {"b/y": 6, "b/z": 7},
		{Key: "a/x"}:                 {"a/x": 5},
		{Indexed: true, Value: "n1"}: {"a/x": 5, "b/z": 7},
		{Indexed: true, Value: "n3"}: {},
	}
	for scope, objects := range listed {
		r := inventoryOf(t, 20, objects)
		r.Scope = scope
		for _, of := range append(slices.Collect(maps.Keys(listed)), Scope{}, Scope{Namespace: "a"}) {
			want := map[bool]uint64{true: 20}[of == scope]
			_, c := listAndWatch(t, s, of)
			if got := c.SkipToInventory(r); got != want {
				t.Errorf("a reader of %+v skips to %d by an inventory of %+v, want %d", of, got, scope, want)
			}
			if _, version, err := c.Next(make([]*Event, 1)); version != max(want, 10) || err != nil {
				t.Errorf("%+v: complete up to %d, %v", of, version, err)
			}
		}
	}
	if s.Streamed() != 10 || s.Snapshot().Version != 10 {
		t.Error("the whole resource is proven")
	}
}

// The comparison of a large state takes long, and the history may forget events meanwhile: what they have changed is
// not known.
func TestComparisonThatTheHistoryDoesNotCoverConfirmsNothing(t *testing.T) {
	s := New(Options{HistoryBytes: 1}, []*tree.Object{testObject("a/x", 5), testObject("a/z", 6)}, 10)
	r := inventoryOf(t, 20, map[tree.Key]uint64{"a/x": 5})
	c := &comparison{inventory: r, position: s.history.position, differences: r.differences(s.Snapshot())}
	apply(t, s, Added, "a/y", 11) // is trimmed by the next one
	apply(t, s, Deleted, "a/z", 12)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, err := s.conclude(c); ok || err != nil || s.ledger.compared != nil || len(s.ledger.confirmed) != 0 {
		t.Errorf("confirmed with a/y, which is not listed: %v, %v", ok, err)
	}
}

func TestInventoryOfAScopeIsNoProofOfAnotherState(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("b/y", 6)}, 10)
	scope := Scope{Namespace: "a"}
	_, c := listAndWatch(t, s, scope)
	for _, objects := range []map[tree.Key]uint64{{}, {"a/x": 12}, {"a/w": 12, "a/x": 5}} {
		r := inventoryOf(t, 20, objects)
		r.Scope = scope
		if c.SkipToInventory(r) != 0 {
			t.Errorf("proven although %v are listed", objects)
		}
	}
	r := inventoryOf(t, 20, map[tree.Key]uint64{"a/x": 12})
	r.Scope = scope
	apply(t, s, Modified, "a/x", 12)
	if c.SkipToInventory(r) != 0 {
		t.Error("proven before the event is delivered")
	}
	if keys, _ := readKeys(t, c); len(keys) != 1 {
		t.Fatal("no event")
	}
	if c.SkipToInventory(r) != 20 {
		t.Error("not proven once the event is delivered")
	}
	if shown, newest := s.Shown(), s.Snapshot().Version; shown != 20 || newest >= 20 {
		t.Errorf("a reader has %d of a store at %d", shown, newest)
	}
	apply(t, s, Deleted, "a/x", 15) // and created again before 20
	apply(t, s, Added, "a/x", 21)
	if keys, version := readKeys(t, c); len(keys) != 1 || version != 21 {
		t.Errorf("got %v up to %d", keys, version)
	}
}

func TestAnInventoryBetweenTwoEventsOfAVersionContradictsNothing(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	apply(t, s, Deleted, "a/x", 11)
	apply(t, s, Deleted, "a/y", 11)
	apply(t, s, Added, "a/z", 12)
	if _, err := s.ConfirmState(inventoryOf(t, 11, map[tree.Key]uint64{"a/y": 6})); err != nil {
		t.Errorf("got %v", err)
	}
}
