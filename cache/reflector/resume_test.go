package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
)

// etcd may be restored from a backup and pass the version of the store while its watch is away.
func TestStoreGoesOnOnlyIfEventsExplainEachDifference(t *testing.T) {
	broken := errors.New("connection reset")
	begin := step{call: "watchlist", events: []Event{event(added, "a/x", 3), event(added, "a/y", 4), synced(10)}, end: broken}
	again := step{call: "watchlist", events: []Event{event(added, "a/x", 3), synced(30)}}
	x, y := object("a/x", 3), object("a/y", 4)
	for _, row := range []struct {
		name    string
		steps   []step
		ended   error // why the first store was withdrawn; nil if it goes on
		proves  uint64
		objects int
	}{
		{"the same objects", []step{
			{call: "watch 10", doubtful: true},
			{call: "inventory", objects: []*tree.Object{x, y}, version: 20},
		}, nil, 20, 2},
		{"an event on its way", []step{
			{call: "watch 10", doubtful: true, events: []Event{event(modified, "a/y", 15), event(added, "a/z", 16)}},
			{call: "inventory", objects: []*tree.Object{x, object("a/y", 15), object("a/z", 16)}, version: 20},
		}, nil, 20, 3},
		{"events that leave no trace", []step{
			{call: "watch 10", doubtful: true, events: []Event{event(deleted, "a/y", 15), event(added, "a/z", 16), event(deleted, "a/z", 17)}},
			{call: "inventory", objects: []*tree.Object{x}, version: 20},
		}, nil, 20, 1},
		{"certainly the same history", []step{{call: "watch 10"}}, nil, 10, 2},
		{"an inventory that fails", []step{
			{call: "watch 10", doubtful: true},
			{call: "inventory", err: broken},
			{call: "watch 10", doubtful: true},
			{call: "inventory", objects: []*tree.Object{x, y}, version: 20},
		}, nil, 20, 2},
		{"an object of a discarded history", []step{
			{call: "watch 10", doubtful: true},
			{call: "inventory", objects: []*tree.Object{x}, version: 20},
			again,
		}, cache.ErrDiverged, 30, 1},
		{"an object of another history", []step{
			{call: "watch 10", doubtful: true, events: []Event{event(modified, "a/x", 15)}},
			{call: "inventory", objects: []*tree.Object{object("a/x", 15), y, object("a/z", 9)}, version: 20},
			again,
		}, cache.ErrDiverged, 30, 1},
		{"an older version", []step{
			{call: "watch 10", doubtful: true},
			{call: "inventory", objects: []*tree.Object{x, y}, version: 9},
			again,
		}, cache.ErrDiverged, 30, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, append([]step{begin}, row.steps...)...)
				wait(time.Minute)
				if len(s.src.steps) != 0 || s.current == nil {
					t.Fatalf("steps left: %+v, calls %v", s.src.steps, s.src.calls)
				}
				if n := s.current.Snapshot().Len(); n != row.objects || !s.current.Proves(row.proves) {
					t.Errorf("%d objects at version %d", n, s.current.Snapshot().Version)
				}
				if !errors.Is(s.ended, row.ended) || (s.ended == nil) != (row.ended == nil) {
					t.Errorf("ended by %v, want %v", s.ended, row.ended)
				}
				s.stop(nil)
			})
		})
	}
}

// While no watch is open, etcd may be restored after the inventory of a reader.
func TestStoreStaysInDoubtAfterAnInventoryThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("connection reset")
		s := start(t,
			step{call: "watchlist", events: []Event{event(added, "a/x", 3), synced(10)}, end: broken},
			step{call: "watch 10", doubtful: true},
			step{call: "inventory", err: &cache.RetryAfterError{After: 20 * time.Second, Err: broken}},
			step{call: "watch 10", doubtful: true},
			step{call: "inventory", objects: []*tree.Object{object("a/x", 3)}, version: 20},
		)
		wait(10 * time.Second)
		listed := &cache.Inventory{Version: 15, Asked: time.Now()}
		if err := listed.Add("a/x", 3); err != nil {
			t.Fatal(err)
		}
		if _, err := s.current.ConfirmState(listed); err != nil || !s.current.Proves(15) || !s.current.Doubtful() {
			t.Errorf("proven: %v, in doubt: %v, %v", s.current.Proves(15), s.current.Doubtful(), err)
		}
		time.Sleep(time.Minute)
		if s.current.Doubtful() {
			t.Error("the doubt does not end")
		}
		s.stop(nil)
	})
}

// A list would end every watch of the store.
func TestStoreGoesOnAfterAsManyEventsAsItHasObjects(t *testing.T) {
	const objects = 1000
	synctest.Test(t, func(t *testing.T) {
		var before, after []Event
		var now []*tree.Object
		for i := range objects {
			name := tree.Key(fmt.Sprintf("a/x%05d", i))
			before = append(before, event(added, name, uint64(1+i)))
			after = append(after, event(modified, name, uint64(objects+1+i)))
			now = append(now, after[i].Object)
		}
		s := start(t,
			step{call: "watchlist", events: append(before, synced(objects)), end: errors.New("connection reset")},
			step{call: fmt.Sprint("watch ", objects), doubtful: true, events: after},
			step{call: "inventory", objects: now, version: 2 * objects},
		)
		wait(time.Minute)
		if len(s.src.steps) != 0 || len(s.stores) != 1 || s.current == nil {
			t.Errorf("%d stores, %d steps left, calls %v", len(s.stores), len(s.src.steps), s.src.calls)
		}
		s.stop(nil)
	})
}

// Whatever the new watch delivers, nothing of it is applied and nothing is proven before the inventory.
func TestStoreStandsStillUntilTheInventory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t,
			step{call: "watchlist", events: []Event{event(added, "a/x", 3), synced(10)}, end: io.EOF, after: time.Minute},
			step{call: "watch 10", doubtful: true, events: []Event{bookmark(15), event(added, "a/y", 16)}},
			step{call: "inventory", objects: []*tree.Object{object("a/x", 3)}, version: 14, after: time.Minute},
		)
		wait(30 * time.Second)
		if !s.current.Proves(10) {
			t.Error("not proven while the watch is open")
		}
		wait(time.Minute)
		if open, _ := s.Connected(); open || s.current.Proves(10) || s.current.Snapshot().Version != 10 || s.DisconnectedFor() != 30*time.Second {
			t.Errorf("goes on at version %d without a verdict", s.current.Snapshot().Version)
		}
		wait(time.Minute)
		if open, _ := s.Connected(); !open || !s.current.Proves(16) {
			t.Errorf("at version %d after the verdict", s.current.Snapshot().Version)
		}
		s.stop(nil)
	})
}

// What cuts each watch off soon would otherwise make the apiserver list the resource again and again.
func TestShortWatchesAreNotResumedMoreOftenThanTheyAreWorth(t *testing.T) {
	for _, row := range []struct {
		name        string
		lives, cost time.Duration // of each watch, and of each inventory
		end         error
		away        int // attempts that fail before the first watch is resumed
		most, least int // watches in an hour
	}{
		{"cut off after an event", 0, 100 * time.Millisecond, io.ErrUnexpectedEOF, 0, 3600, 2000},
		{"cut off after an event, of a large store", 0, 3 * time.Second, io.ErrUnexpectedEOF, 0, 120, 70},
		{"ended in an orderly way after an event", 2 * time.Second, 3 * time.Second, io.EOF, 0, 120, 70},
		{"ended in an orderly way after a while", 31 * time.Second, 3 * time.Second, io.EOF, 0, 106, 105},
		{"cut off after a while", 31 * time.Second, 3 * time.Second, io.ErrUnexpectedEOF, 0, 106, 104},
		{"cut off without an event", 0, 100 * time.Millisecond, io.ErrUnexpectedEOF, 0, 120, 70},
		{"ended in an orderly way without an event", 0, 100 * time.Millisecond, io.EOF, 0, 120, 70},
		{"cut off after a while, and after an outage", 31 * time.Second, 3 * time.Second, io.ErrUnexpectedEOF, 20, 95, 80},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &breaking{lives: row.lives, cost: row.cost, end: row.end, away: row.away, silent: strings.HasSuffix(row.name, "without an event")}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := New(src, Options{Publish: func(*cache.Store) {}}).Run(ctx); err != nil {
					t.Fatal(err)
				}
				if src.watches > row.most || src.watches < row.least {
					t.Errorf("%d watches in an hour, want %d to %d", src.watches, row.least, row.most)
				}
			})
		})
	}
}

// breaking is an apiserver with one object, whose watches end after an event.
type breaking struct {
	version     uint64
	lives, cost time.Duration
	end         error
	away        int
	silent      bool // they end without one
	watches     int
}

func (b *breaking) List(context.Context, func(*tree.Object)) (uint64, error) { return 0, ErrExpired }

func (b *breaking) WatchList(ctx context.Context) (Stream, error) {
	b.version = 1
	return &scriptStream{ctx: ctx, events: []Event{event(added, "a/x", 1), synced(1)}, end: b.end}, nil
}

func (b *breaking) Watch(ctx context.Context, _ uint64) (Stream, error) {
	if b.away > 0 {
		b.away--
		return nil, errors.New("connection refused")
	}
	b.watches++
	if b.silent {
		return &scriptStream{ctx: ctx, end: b.end, after: b.lives, doubtful: true}, nil
	}
	b.version++
	return &scriptStream{ctx: ctx, events: []Event{event(modified, "a/x", b.version)}, end: b.end, after: b.lives, doubtful: true}, nil
}

func (b *breaking) Inventory(ctx context.Context) (*cache.Inventory, error) {
	select {
	case <-time.After(b.cost):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	i := &cache.Inventory{Version: b.version}
	return i, i.Add("a/x", b.version)
}
