package cache

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/cache/tree"
)

// growing returns a store of 10 objects in 10 namespaces with n updates, of each object in turn, at the
// versions from 11 on.
func growing(t *testing.T, o Options, n int) (s *Writer, update func()) {
	t.Helper()
	var objects []*tree.Object
	for i := range 10 {
		objects = append(objects, &tree.Object{Key: tree.KeyOf(fmt.Sprint(i), "a"), RV: uint64(i + 1)})
	}
	s = New(o, objects, 10)
	version := uint64(10)
	update = func() {
		version++
		key := tree.KeyOf(fmt.Sprint(version%10), "a")
		if err := s.Apply(Modified, &tree.Object{Key: key, RV: version}, time.Unix(int64(version), 0)); err != nil {
			t.Error(err)
		}
	}
	for range n {
		update()
	}
	return s, update
}

// The events of a watch that begins in the past are far apart in the history of the whole resource.
func TestAReadOfThePastReturnsAllEventsThatItHasRoomFor(t *testing.T) {
	s, update := growing(t, Options{HistoryAge: time.Hour}, 3*scanPiece)
	c := openWatch(t, s, Scope{Namespace: "1"}, 10)
	events := make([]*Event, 4*scanPiece)
	if n, version, err := c.Next(events[:2]); n != 2 || version != events[1].RV || err != nil {
		t.Errorf("%d events up to %d, %v", n, version, err)
	}
	c.Rewind(events[0])
	for range 10 {
		update()
	}
	behind, since := c.Behind(events[0].RV)
	n, version, err := c.Next(events)
	if want := 3 * scanPiece / 10; n < want-1 || n > want+1 || version != s.Streamed() || err != nil {
		t.Errorf("%d events up to %d, %v", n, version, err)
	}
	if behind < scanPiece/10 || behind > n || !since.Equal(events[0].At) {
		t.Errorf("behind by %d of %d events since %v", behind, n, since)
	}
}

// Whatever is applied and trimmed while a watch opens, it delivers every event of its scope after its version,
// once and in order, or none.
func TestWatchOfThePastIsCompleteWhileTheStoreChanges(t *testing.T) {
	t.Run("with states", func(t *testing.T) { watchThePast(t, Options{HistoryAge: 2000 * time.Second}) }) // a second between two events
	t.Run("archived", func(t *testing.T) { watchThePast(t, Options{HistoryBytes: 256 << 10}) })
}

func watchThePast(t *testing.T, o Options) {
	s, update := growing(t, o, 2000)
	const last = 6000
	var watches sync.WaitGroup
	for i := range 4 {
		watches.Go(func() {
			for s.Streamed() < last {
				version, scope := s.OldestVersion(), Scope{Namespace: fmt.Sprint(i)}
				c, err := s.Watch(scope, version)
				if errors.Is(err, ErrGone) {
					continue
				}
				var got []uint64
				events := make([]*Event, 100)
				for n, until := 1, uint64(0); n > 0 && err == nil; {
					n, until, err = c.Next(events)
					for _, e := range events[:n] {
						got = append(got, e.RV)
					}
					_ = until
				}
				c.Close()
				if err != nil && !errors.Is(err, ErrGone) {
					t.Error(err)
				}
				for k, rv := range got {
					if rv%10 != uint64(i) || rv <= version || k > 0 && rv != got[k-1]+10 || k == 0 && rv > version+10 {
						t.Errorf("watch of %d after %d: %v", i, version, slices.Clip(got[:k+1]))
						return
					}
				}
			}
		})
	}
	for s.Streamed() < last {
		update()
	}
	watches.Wait()
}
