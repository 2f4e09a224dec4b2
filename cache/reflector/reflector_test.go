package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a ListerWatcher that gives scripted answers and fails the test on any other call.
type script struct {
	t     *testing.T
	mu    sync.Mutex
	steps []step
	calls []string
}

// step is the answer to one call: an error, objects (List), or a stream of events.
type step struct {
	call    string // "watchlist", "list", "watch N", "inventory"
	err     error
	objects []*tree.Object
	version uint64
	events  []Event
	end     error         // of the stream; nil keeps it open until the context ends
	after   time.Duration // when the stream ends, or the list or inventory is answered
	// doubtful is of a watch that may be of another history.
	doubtful bool
}

func (s *script) play(call string) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if len(s.steps) == 0 {
		return step{err: errors.New("script has ended")}
	}
	next := s.steps[0]
	if next.call != call {
		s.t.Errorf("call %d is %q, want %q", len(s.calls), call, next.call)
	}
	s.steps = s.steps[1:]
	return next
}

func (s *script) List(_ context.Context, yield func(*tree.Object)) (uint64, error) {
	st := s.play("list")
	time.Sleep(st.after)
	for _, o := range st.objects {
		yield(o)
	}
	return st.version, st.err
}

func (s *script) Watch(ctx context.Context, version uint64) (Stream, error) {
	return s.stream(ctx, fmt.Sprintf("watch %d", version))
}

// Inventory lists the objects of a step, which must be in the order of their keys.
func (s *script) Inventory(context.Context) (*cache.Inventory, error) {
	st := s.play("inventory")
	time.Sleep(st.after)
	r := &cache.Inventory{Version: st.version}
	for _, o := range st.objects {
		if err := r.Add(o.Key, o.RV); err != nil {
			s.t.Error(err)
		}
	}
	return r, st.err
}

func (s *script) WatchList(ctx context.Context) (Stream, error) { return s.stream(ctx, "watchlist") }

func (s *script) stream(ctx context.Context, call string) (Stream, error) {
	st := s.play(call)
	if st.err != nil {
		return nil, st.err
	}
	return &scriptStream{ctx: ctx, events: st.events, end: st.end, after: st.after, doubtful: st.doubtful}, nil
}

type scriptStream struct {
	ctx    context.Context
	events []Event
	end    error
	after  time.Duration

	doubtful bool
}

func (s *scriptStream) Next() (Event, error) {
	if len(s.events) > 0 {
		c := s.events[0]
		s.events = s.events[1:]
		return c, nil
	}
	if s.end != nil {
		time.Sleep(s.after)
		return Event{}, s.end
	}
	<-s.ctx.Done()
	return Event{}, s.ctx.Err()
}

func (s *scriptStream) Continues() bool { return !s.doubtful }
func (s *scriptStream) Close() error    { return nil }

func object(key tree.Key, rv uint64) *tree.Object {
	return &tree.Object{Key: key, RV: rv, Data: []byte("x")}
}

func event(t cache.Type, key tree.Key, rv uint64) Event {
	return Event{Type: t, Object: object(key, rv), Version: rv}
}

var (
	added    = cache.Added
	modified = cache.Modified
	deleted  = cache.Deleted
)

func synced(version uint64) Event   { return Event{Version: version, InitialEventsEnd: true} }
func bookmark(version uint64) Event { return Event{Version: version} }

// session is a reflector of a script that runs, with what it has published.
type session struct {
	*Reflector
	src     *script
	stores  []*cache.Store
	current *cache.Store
	ended   error // why stores were withdrawn
	stop    func(want error)
}

// start begins a session, which its test must stop.
func start(t *testing.T, steps ...step) *session {
	s := &session{src: &script{t: t, steps: steps}}
	s.Reflector = New(s.src, Options{
		Publish: func(store *cache.Store) {
			if s.current = store; store != nil {
				s.stores = append(s.stores, store)
			}
		},
		Ended: func(err error) { s.ended = errors.Join(s.ended, err) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.stop = func(want error) {
		cancel()
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("Run returned %v, want %v", err, want)
		}
	}
	return s
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestPublishedStoreFollowsTheAPIServer(t *testing.T) {
	broken := errors.New("connection reset")
	tests := []struct {
		name    string
		steps   []step
		stores  int    // that were published
		objects int    // in the last store
		version uint64 // of the last store; 0 means none is published at the end
		ends    error  // returned by Run
	}{
		{
			name:   "streaming list, then events",
			steps:  []step{{call: "watchlist", events: []Event{event(added, "a/x", 3), event(added, "a/y", 2), synced(10), event(modified, "a/x", 11), event(deleted, "a/y", 12), bookmark(20)}}},
			stores: 1, objects: 1, version: 20,
		},
		{
			name:   "events before the bookmark that ends the initial events",
			steps:  []step{{call: "watchlist", events: []Event{event(added, "a/x", 3), event(added, "a/y", 2), event(deleted, "a/x", 8), event(modified, "a/y", 9), synced(9)}}},
			stores: 1, objects: 1, version: 9,
		},
		{
			name: "no streaming lists",
			steps: []step{
				{call: "watchlist", err: ErrUnsupported},
				{call: "list", objects: []*tree.Object{object("a/y", 4), object("a/x", 3)}, version: 10},
				{call: "watch 10", events: []Event{event(added, "b/z", 11)}},
			},
			stores: 1, objects: 3, version: 11,
		},
		{
			name: "streaming lists that fail are tried again by the next session",
			steps: []step{
				{call: "watchlist", err: ErrListInstead},
				{call: "list", objects: []*tree.Object{object("a/x", 3)}, version: 10},
				{call: "watch 10", err: ErrExpired},
				{call: "watchlist", events: []Event{event(added, "a/gone", 4)}, end: ErrListInstead},
				{call: "list", objects: []*tree.Object{object("a/x", 3)}, version: 20},
				{call: "watch 20", err: ErrExpired},
				{call: "watchlist", events: []Event{synced(30)}},
			},
			stores: 3, objects: 0, version: 30,
		},
		{
			name: "a store whose events are held back is followed by one of a list, not of another stream",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10)}, end: errors.Join(cache.ErrHeldBack, ErrRebuild)},
				{call: "list", err: broken},
				{call: "list", objects: []*tree.Object{object("a/x", 13)}, version: 20},
				{call: "watch 20", err: ErrExpired},
				{call: "watchlist", events: []Event{event(added, "a/x", 13), synced(30)}},
			},
			stores: 3, objects: 1, version: 30,
		},
		{
			name: "a failed list is retried, streaming lists are not",
			steps: []step{
				{call: "watchlist", err: ErrUnsupported},
				{call: "list", objects: []*tree.Object{object("a/gone", 4)}, err: broken},
				{call: "list", objects: []*tree.Object{object("a/x", 3)}, version: 10},
				{call: "watch 10"},
			},
			stores: 1, objects: 1, version: 10,
		},
		{
			name: "a broken watch is resumed from the version of the store",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10), event(added, "a/x", 11)}, end: broken},
				{call: "watch 11", err: broken},
				{call: "watch 11", events: []Event{bookmark(15)}, end: io.EOF},
				{call: "watch 15", err: &cache.RetryAfterError{After: 7 * time.Second, Err: broken}},
				{call: "watch 15", events: []Event{event(modified, "a/x", 16)}},
			},
			stores: 1, objects: 1, version: 16,
		},
		{
			name: "expired history starts a new session",
			steps: []step{
				{call: "watchlist", events: []Event{event(added, "a/x", 3), synced(10)}, end: broken},
				{call: "watch 10", err: ErrExpired},
				{call: "watchlist", events: []Event{synced(50)}},
			},
			stores: 2, objects: 0, version: 50,
		},
		{
			name: "an event that contradicts the state starts a new session",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10), event(modified, "a/x", 11)}},
				{call: "watchlist", events: []Event{event(added, "a/x", 11), synced(12)}},
			},
			stores: 2, objects: 1, version: 12,
		},
		{
			name: "an incomplete streaming list is not published",
			steps: []step{
				{call: "watchlist", events: []Event{event(added, "a/x", 3)}, end: io.EOF},
				{call: "watchlist", events: []Event{event(added, "a/y", 3), synced(12)}},
			},
			stores: 1, objects: 1, version: 12,
		},
		{
			name: "a forbidden watch unpublishes the store until it is allowed again",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10)}, end: broken},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: broken},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: ErrForbidden},
				{call: "watchlist", err: ErrForbidden},
				{call: "watchlist", events: []Event{synced(30)}},
			},
			stores: 2, version: 30,
		},
		{
			name: "a watch that is forbidden for a moment keeps the store",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10)}, end: fmt.Errorf("event: %w", ErrForbidden)},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", err: ErrForbidden},
				{call: "watch 10", events: []Event{event(added, "a/x", 11)}},
			},
			stores: 1, objects: 1, version: 11,
		},
		{
			name: "an absent resource ends Run",
			steps: []step{
				{call: "watchlist", events: []Event{synced(10)}, end: io.EOF},
				{call: "watch 10", err: fmt.Errorf("404: %w", ErrAbsent)},
			},
			stores: 1, version: 0, ends: ErrAbsent,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, tt.steps...)
				wait(10 * time.Minute) // until nothing more happens
				if len(s.src.steps) != 0 {
					t.Errorf("steps left: %+v, calls %v", s.src.steps, s.src.calls)
				}
				if len(s.stores) != tt.stores {
					t.Errorf("%d stores were published, want %d", len(s.stores), tt.stores)
				}
				checkStores(t, s.stores, s.current, tt.objects, tt.version)
				s.stop(tt.ends)
				if s.current != nil {
					t.Error("the store is still published after Run")
				}
			})
		})
	}
}

func checkStores(t *testing.T, stores []*cache.Store, current *cache.Store, objects int, version uint64) {
	t.Helper()
	for _, s := range stores {
		select {
		case <-s.Done():
			if s == current {
				t.Error("a closed store is published")
			}
		default:
			if s != current {
				t.Error("a store that is not published is open")
			}
		}
	}
	if version == 0 {
		if current != nil {
			t.Error("a store is published")
		}
		return
	}
	if current == nil {
		t.Fatal("no store is published")
	}
	if s := current.Snapshot(); s.Version != version || s.Len() != objects {
		t.Errorf("store at version %d holds %d objects, want %d and %d", s.Version, s.Len(), version, objects)
	}
}

func TestRebuildReplacesTheStoreWhileItsWatchIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t,
			step{call: "watchlist", events: []Event{event(added, "a/wrong", 3), synced(10)}},
			step{call: "watchlist", events: []Event{event(added, "a/right", 4), synced(12)}},
		)
		synctest.Wait()
		first := s.current
		s.Rebuild(errors.New("keys differ"))
		wait(time.Minute)
		if s.current == nil || s.current == first || s.current.Snapshot().Get("a/right") == nil {
			t.Error("no new store")
		}
		s.stop(nil)
	})
}

// withoutStore plays a script within an hour of virtual time, and returns how long no store was published after the first.
func withoutStore(t *testing.T, steps []step) (without time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{t: t, steps: steps}
		var since time.Time
		r := New(src, Options{Publish: func(s *cache.Store) {
			if s == nil {
				since = time.Now()
			} else if !since.IsZero() {
				without += time.Since(since)
			}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := r.Run(ctx); err != nil || len(src.steps) > 0 {
			t.Errorf("%d steps are left, %v", len(src.steps), err)
		}
	})
	return without
}

// However often the events are held back, there is a store for most of the time.
func TestStoreWhoseEventsAreHeldBackIsSoonReplaced(t *testing.T) {
	heldBack := errors.Join(cache.ErrHeldBack, ErrRebuild)
	steps := []step{{call: "watchlist", events: []Event{synced(10)}, end: heldBack}}
	const lists, frozen = 10, 3 * time.Second
	for range lists {
		steps = append(steps, step{call: "list", version: 20}, step{call: "watch 20", end: heldBack, after: frozen})
	}
	if without := withoutStore(t, steps); without > lists*2*firstDelay {
		t.Errorf("no store for %v while %d were held back", without, lists)
	}
}

// A restarted apiserver has no history. It is listed at once, however often it could not be reached before.
func TestStoreThatExpiresInAnOutageIsReplacedAtOnce(t *testing.T) {
	away := errors.New("connection refused")
	steps := []step{{call: "watchlist", events: []Event{synced(10)}, end: away, after: time.Minute}}
	for range 20 {
		steps = append(steps, step{call: "watch 10", err: away})
	}
	steps = append(steps, step{call: "watch 10", err: ErrExpired}, step{call: "watchlist", events: []Event{synced(50)}})
	if without := withoutStore(t, steps); without == 0 || without > 2*firstDelay {
		t.Errorf("no store for %v", without)
	}
}

// The apiserver may not keep a state until its last page is read: it is listed ever more rarely.
func TestListsThatExpireGrowRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{t: t, steps: []step{{call: "watchlist", err: ErrUnsupported}}}
		for range 100 {
			src.steps = append(src.steps, step{call: "list", after: 2 * shortWatch, err: ErrExpired})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // virtual time
		defer cancel()
		if err := New(src, Options{}).Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := len(src.calls); n > 20 {
			t.Errorf("%d lists in five minutes", n)
		}
	})
}

func TestBackoffGrowsWithJitterUpToALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b backoff
		want := firstDelay
		for range 12 {
			start := time.Now()
			b.wait(t.Context(), nil)
			if took := time.Since(start); took < want || took > want*3/2 {
				t.Fatalf("waited %v, want between %v and %v", took, want, want*3/2)
			}
			want = min(2*want, maxDelay)
		}
		b.reset()
		start := time.Now()
		b.wait(t.Context(), &cache.RetryAfterError{After: 5 * time.Second})
		if took := time.Since(start); took < 5*time.Second || took > 8*time.Second {
			t.Fatalf("waited %v with Retry-After 5s", took)
		}
	})
}
