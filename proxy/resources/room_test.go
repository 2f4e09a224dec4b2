package resources

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/test/support/fake"
)

// heldStore describes a store: objects of 1,000 bytes each, and its use.
type heldStore struct {
	objects int
	idle    time.Duration // since the last read
	watches int
}

// held adds a store to a Registry.
func held(t *testing.T, r *Registry, name string, h heldStore) *entry {
	t.Helper()
	var objects []*tree.Object
	for i := range h.objects {
		objects = append(objects, &tree.Object{Key: tree.Key(fmt.Sprintf("k%05d", i)), RV: 1, Data: make([]byte, 1000)})
	}
	store := cache.New(cache.Options{}, objects, 10).Store
	for range h.watches {
		cursor, err := store.Watch(cache.Scope{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
	}
	e := newcomer(r, name, h.idle)
	e.current.Store(&CachedResource{Store: store})
	r.room.measure(e, e.current.Load())
	return e
}

// newcomer adds an entry without a store.
func newcomer(r *Registry, name string, idle time.Duration) *entry {
	e := &entry{gvr: schema.GroupVersionResource{Resource: name}, log: zap.NewNop(), stop: func() {}}
	e.used.Store(time.Now().Add(-idle).UnixNano())
	r.entries.set(e.gvr, e)
	return e
}

// stopped reports whether an entry has been stopped.
func stopped(e *entry) bool { return e.charged == 0 }

const minute = time.Minute

func TestStoresThatAreUsedLeastAreStoppedFirst(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stores map[string]heldStore
		first  []string // stopped one after the other, as the limit falls
	}{
		{"the one not used for longest", map[string]heldStore{
			"a": {objects: 10, idle: minute}, "b": {objects: 10, idle: 3 * minute}, "c": {objects: 10, idle: 2 * minute},
		}, []string{"b", "c", "a"}},
		{"the one with the fewest open watches", map[string]heldStore{
			"a": {objects: 10, watches: 2, idle: minute}, "b": {objects: 10}, "c": {objects: 1000, watches: 1},
		}, []string{"b", "c", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}})
			for name, h := range tt.stores {
				held(t, r, name, h)
			}
			var order []string
			for range tt.stores {
				r.room.limit = r.room.used - 1
				r.room.enforce(time.Now())
				for gvr, e := range r.entries.m {
					if stopped(e) && !slices.Contains(order, gvr.Resource) {
						order = append(order, gvr.Resource)
					}
				}
			}
			if !slices.Equal(order, tt.first) {
				t.Errorf("stopped %v, want %v", order, tt.first)
			}
		})
	}
}

func TestNewcomerHasTheRoomOfStoresThatNobodyUses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		stores   map[string]heldStore
		admitted bool
		left     []string
	}{
		{"unused", map[string]heldStore{"a": {objects: 1000, idle: 2 * minute}}, true, nil},
		{"read a moment ago", map[string]heldStore{"a": {objects: 1000}}, false, []string{"a"}},
		{"watched", map[string]heldStore{"a": {objects: 1000, idle: 2 * minute, watches: 1}}, false, []string{"a"}},
		{"unused, but not enough", map[string]heldStore{
			"a": {objects: 10, idle: 2 * minute}, "b": {objects: 1000},
		}, false, []string{"a", "b"}},
		{"several unused, the oldest first", map[string]heldStore{
			"a": {objects: 10, idle: 4 * minute}, "b": {objects: 10, idle: 3 * minute}, "c": {objects: 10, idle: 2 * minute},
		}, true, []string{"c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}})
			for name, h := range tt.stores {
				held(t, r, name, h)
			}
			r.room.limit = r.room.used
			e := newcomer(r, "new", 0)
			if admitted := r.room.claim(e, 2*storeOverhead); admitted != tt.admitted {
				t.Errorf("admitted: %v", admitted)
			}
			if left := left(r, e); !slices.Equal(left, tt.left) {
				t.Errorf("%v are left, want %v", left, tt.left)
			}
			if r.room.used > r.room.limit {
				t.Errorf("%d bytes are used of %d", r.room.used, r.room.limit)
			}
		})
	}
}

func TestIdleStoresStopAndStartAgain(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"watchlist", d.Stream(d.InitialEventsEnd("20"))},
	}
	run(t, d, Options{CheckEvery: 1000 * time.Hour, Limits: Limits{Idle: 90 * time.Second}}, steps, func(t *testing.T, e *env) {
		e.lookup()
		for range 2 {
			pass(time.Minute)
			e.check(t, 10, "a/x") // is a use
		}
		pass(2*time.Minute + 2*enforceEvery)
		if states := e.registry.States(); len(states) != 0 {
			t.Errorf("states are %v", states)
		}
		if reason := e.lookup(); reason != NotInSync {
			t.Errorf("reason is %q", reason)
		}
		pass(time.Second)
		e.check(t, 20)
	})
}

func TestStoreThatIsTooLargeStaysAwayForAWhile(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"watchlist", d.Stream(d.InitialEventsEnd("20"))},
	}
	const limit = 2 * storeOverhead
	run(t, d, Options{Limits: Limits{Bytes: limit}}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		e.check(t, 10, "a/x")
		e.registry.room.setLimit(storeOverhead)
		pass(enforceEvery)
		e.registry.room.setLimit(limit)
		if reason := e.lookup(); reason != StoresTooLarge {
			t.Errorf("reason is %q", reason)
		}
		if n := testutil.CollectAndCount(e.registry.Collector(), "sluice_store_synced"); n > 0 {
			t.Error("a store that is to be none is shown as not in sync")
		}
		pass(tooLargeFor)
		if reason := e.lookup(); reason != NotInSync {
			t.Errorf("after %s: %q", tooLargeFor, reason)
		}
		pass(time.Second)
		e.check(t, 20)
	})
}

func (m *room) setLimit(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = bytes
}

func TestEnforceStopsStoresThatAreIdle(t *testing.T) {
	now := time.Now()
	r := New(Options{Limits: Limits{Idle: time.Minute}, Log: zap.NewNop()})
	held(t, r, "read", heldStore{idle: time.Second})
	held(t, r, "watched", heldStore{idle: 2 * time.Minute, watches: 1})
	held(t, r, "idle", heldStore{idle: 2 * time.Minute})
	r.room.enforce(now)
	if left := left(r, nil); !slices.Equal(left, []string{"read", "watched"}) {
		t.Errorf("%v are left", left)
	}
}

// left returns the names of the stores that are not stopped, without one.
func left(r *Registry, without *entry) (names []string) {
	for gvr, e := range r.entries.m {
		if e != without && !stopped(e) {
			names = append(names, gvr.Resource)
		}
	}
	slices.Sort(names)
	return names
}
