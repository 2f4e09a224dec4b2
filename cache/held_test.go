package cache

import (
	"fmt"
	"testing"
	"time"

	"sluice/cache/tree"
)

// replace applies n updates of each of the store's objects, a minute apart.
func replace(t *testing.T, s *Writer, at *time.Time, keys, rounds int) {
	t.Helper()
	version := s.Streamed()
	for range rounds {
		*at = at.Add(time.Minute)
		for i := range keys {
			version++
			o := &tree.Object{Key: tree.Key(fmt.Sprintf("ns/%03d", i)), RV: version, Data: make([]byte, 1000)}
			if err := s.Apply(Modified, o, *at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestHeldCountsWhatOnlySnapshotsKeepAlive(t *testing.T) {
	const keys = 200
	var objects []*tree.Object
	for i := range keys {
		objects = append(objects, &tree.Object{Key: tree.Key(fmt.Sprintf("ns/%03d", i)), RV: uint64(i + 1), Data: make([]byte, 1000)})
	}
	s := New(Options{HistoryAge: 5 * time.Minute}, objects, keys)
	at := time.Unix(0, 0)
	first := s.Snapshot()
	size := first.Memory()
	replace(t, s, &at, keys, 3)
	if got := s.Held(first); got != 0 {
		t.Errorf("%d bytes that the history has too", got)
	}
	replace(t, s, &at, keys, 7)
	if got := s.Held(first); got != size {
		t.Errorf("%d bytes of a snapshot of %d that is replaced", got, size)
	}
	if got := s.Held(first, first, first); got < size || got > 3*size {
		t.Errorf("%d bytes of one snapshot of %d, held by three", got, size)
	}
	middle := s.Snapshot()
	replace(t, s, &at, keys/2, 10)
	if one, both := s.Held(middle), s.Held(first, middle); one < size/2 || one > size || both < size || both > size+one {
		t.Errorf("%d and %d bytes of half a snapshot, and of both", one, both)
	}
	if got := s.Held(s.Snapshot()); got != 0 {
		t.Errorf("%d bytes of the newest snapshot", got)
	}
	if got := s.Held(); got != 0 {
		t.Errorf("%d bytes of none", got)
	}
}

func TestEndedStoreIsHeldWhole(t *testing.T) {
	s := New(Options{}, []*tree.Object{{Key: "ns/a", RV: 1, Data: make([]byte, 1000)}}, 1)
	now := s.Snapshot()
	s.Close()
	if got, want := s.Held(now, now), now.Memory(); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
