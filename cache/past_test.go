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
func growing(t *testing.T, o Options, n int) (s *Store, update func()) {
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

// A watch that begins in the past finds its events before it takes the write lock: afterwards only those
// that were applied meanwhile remain to be looked at.
func TestPastIsScannedBeforeTheWriteLock(t *testing.T) {
	s, update := growing(t, Options{HistoryAge: time.Hour}, 3*scanPiece)
	p := s.pastOf(Scope{Namespace: "1"}, 10)
	if want := 3*scanPiece/10 + 1; p.to != s.position || len(p.events) < want-1 || len(p.events) > want {
		t.Fatalf("up to %d: %d events", p.to, len(p.events))
	}
	found := len(p.events)
	for range 10 {
		update()
	}
	s.mu.Lock()
	sub := s.subscribe(Scope{Namespace: "1"}, 0, p)
	s.mu.Unlock()
	if sub.history.n != found+1 {
		t.Errorf("%d events, %d of them found before", sub.history.n, found)
	}
	if again := s.pastOf(Scope{Namespace: "1"}, 10); len(again.events) != 0 {
		t.Error("the past of a subscription is scanned again")
	}
}

// The event would never leave the subscription, nor would those behind it.
func TestSubscriptionHoldsNoEventThatHasLeftTheHistory(t *testing.T) {
	s, update := growing(t, Options{HistoryAge: 100 * time.Second}, 200)
	scope := Scope{Namespace: "1"}
	p := s.pastOf(scope, s.OldestVersion())
	for s.OldestVersion() != 161 { // of an event of the scope
		update()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subscribe(scope, s.startAfter(161), p)
	if first := sub.history.at(0).RV; first != 171 {
		t.Errorf("the first event is of version %d", first)
	}
}

// Whatever is applied and trimmed while a watch opens, it delivers every event of its scope after its version,
// once and in order, or none.
func TestWatchOfThePastIsCompleteWhileTheStoreChanges(t *testing.T) {
	s, update := growing(t, Options{HistoryAge: 2000 * time.Second}, 2000) // a second between two events
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
