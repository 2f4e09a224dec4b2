package resources

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/listwatch/fake"
)

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

func TestResourcesBeyondTheLimitAreNotCached(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}}
	run(t, d, Options{Limits: Limits{Resources: 1}}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		if _, reason := e.registry.Lookup(fake.Widgets.GVR, Reader{User: "user", Whole: true}); reason != TooManyResources {
			t.Errorf("second resource: %q", reason)
		}
		e.check(t, 10)
	})
}

func TestStoreThatIsTooLargeStaysAwayForAWhile(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"watchlist", d.Stream(d.InitialEventsEnd("20"))},
	}
	run(t, d, Options{Limits: Limits{Bytes: 1}}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(enforceEvery + time.Second)
		if reason := e.lookup(); reason != StoresTooLarge {
			t.Errorf("reason is %q", reason)
		}
		pass(tooLargeFor)
		if reason := e.lookup(); reason != NotInSync {
			t.Errorf("after %s: %q", tooLargeFor, reason)
		}
		pass(time.Second)
		e.check(t, 20)
	})
}

func TestEnforceStopsIdleStoresAndThoseNotUsedForLongest(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name    string
		limits  Limits
		entries map[string]heldStore
		stopped []string
	}{
		{"within the limits", Limits{}, map[string]heldStore{"a": {objects: 10}}, nil},
		{"idle", Limits{Idle: time.Minute}, map[string]heldStore{"a": {idle: 2 * time.Minute}, "b": {}}, []string{"a"}},
		{"idle but watched", Limits{Idle: time.Minute}, map[string]heldStore{"a": {idle: 2 * time.Minute, watched: true}}, nil},
		{"too large: the store not used for longest goes first", Limits{Bytes: 30_000}, map[string]heldStore{
			"a": {objects: 10, idle: time.Second}, "b": {objects: 10, idle: time.Minute}, "c": {objects: 10},
		}, []string{"b"}},
		{"too large: watched stores go last", Limits{Bytes: 20_000}, map[string]heldStore{
			"a": {objects: 10, idle: time.Minute, watched: true}, "b": {objects: 10},
		}, []string{"b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Limits: tt.limits, Log: zap.NewNop()})
			ended := map[string]bool{}
			for name, held := range tt.entries {
				r.entries[schema.GroupVersionResource{Resource: name}] = held.entry(t, name, now, func() { ended[name] = true })
			}
			r.enforce(now)
			for name := range tt.entries {
				if ended[name] != slices.Contains(tt.stopped, name) {
					t.Errorf("%s stopped: %v", name, ended[name])
				}
			}
		})
	}
}

// heldStore describes an entry: objects of 1,000 bytes each.
type heldStore struct {
	objects int
	idle    time.Duration
	watched bool
}

func (h heldStore) entry(t *testing.T, name string, now time.Time, stop context.CancelFunc) *entry {
	t.Helper()
	var objects []*cache.Object
	for i := range h.objects {
		objects = append(objects, &cache.Object{Key: cache.Key(fmt.Sprintf("k%02d", i)), RV: 1, Data: make([]byte, 1000)})
	}
	store := cache.New(cache.Options{}, objects, 10)
	if h.watched {
		cursor, err := store.Watch(cache.Scope{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
	}
	e := &entry{gvr: schema.GroupVersionResource{Resource: name}, stop: stop}
	e.used.Store(now.Add(-h.idle).UnixNano())
	e.current.Store(&CachedResource{Store: store})
	return e
}

// A user who may read only a part of each resource must not have whole stores started, nor take
// places of others.
func TestReaderStartsAtMostItsShareOfStores(t *testing.T) {
	a, b := Reader{User: "a", Whole: true}, Reader{User: "b", Whole: true}
	part := func(user string) Reader { return Reader{User: user} }
	type start struct {
		by   Reader
		want string
	}
	for _, tt := range []struct {
		name   string
		limits Limits
		starts []start // of a resource each
	}{
		{"of whole resources", Limits{PerUser: 2}, []start{{a, NotInSync}, {a, NotInSync}, {a, TooManyResources}, {b, NotInSync}}},
		{"of parts", Limits{PerPartialReader: 1}, []start{{part("a"), NotInSync}, {part("a"), TooManyResources}, {a, NotInSync}, {part("b"), NotInSync}}},
		{"all readers of parts", Limits{Resources: 4}, []start{
			{part("a"), NotInSync}, {part("b"), NotInSync}, {part("c"), TooManyResources}, {a, NotInSync}, {b, NotInSync}, {b, TooManyResources},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A store that ends gives its place back: none is described before all have been asked for.
			hanging := slices.Repeat([]step{{"discovery", fake.Hang}}, len(tt.starts))
			run(t, fake.ConfigMaps, Options{Limits: tt.limits}, hanging, func(t *testing.T, e *env) {
				for i, s := range tt.starts {
					gvr := schema.GroupVersionResource{Version: "v1", Resource: fmt.Sprint("r", i)}
					if _, reason := e.registry.Lookup(gvr, s.by); reason != s.want {
						t.Errorf("start %d by %+v: %q, want %q", i, s.by, reason, s.want)
					}
				}
				pass(time.Minute)
			})
		})
	}
}

func TestStoreCountsForTheReaderOfTheWholeResource(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}}
	run(t, d, Options{Limits: Limits{PerPartialReader: 1}}, steps, func(t *testing.T, e *env) {
		e.registry.Lookup(d.GVR, Reader{User: "a"})
		pass(time.Second)
		if _, reason := e.registry.Lookup(fake.Widgets.GVR, Reader{User: "a"}); reason != TooManyResources {
			t.Errorf("a second store: %q", reason)
		}
		if c, reason := e.registry.Lookup(d.GVR, Reader{User: "b", Whole: true}); c == nil {
			t.Errorf("a store in sync: %q", reason)
		}
		if _, reason := e.registry.Lookup(fake.Widgets.GVR, Reader{User: "a"}); reason != NotInSync {
			t.Errorf("after somebody has read the whole resource: %q", reason)
		}
		pass(time.Minute)
	})
}

// 500 places for invented resources: each was taken for 5 s. What each costs the apiserver is bounded too.
func TestInventedResourcesTakeNoPlaces(t *testing.T) {
	d := fake.ConfigMaps
	reader := Reader{User: "a", Whole: true}
	run(t, d, Options{Limits: Limits{PerUser: 10, Resources: 10}}, nil, func(t *testing.T, e *env) {
		invented := 0
		invent := func() string {
			invented++
			_, reason := e.registry.Lookup(schema.GroupVersionResource{Version: "v1", Resource: fmt.Sprint("r", invented)}, reader)
			return reason
		}
		for range 10 {
			invent()
		}
		if reason := invent(); reason != TooManyResources {
			t.Errorf("while discovery is asked: %q", reason)
		}
		pass(time.Millisecond)
		if _, reason := e.registry.Lookup(schema.GroupVersionResource{Version: "v1", Resource: "r1"}, reader); reason != NotCacheable {
			t.Errorf("an invented resource: %q", reason)
		}
		if _, reason := e.registry.Lookup(fake.Widgets.GVR, Reader{User: "b", Whole: true}); reason != NotInSync {
			t.Errorf("a resource of another user: %q", reason)
		}
		if reason := invent(); reason != TooManyResources {
			t.Errorf("more than the burst: %q", reason)
		}
		pass(time.Second)
		for range startsPerSecond {
			if reason := invent(); reason != NotInSync {
				t.Errorf("a second later: %q", reason)
			}
		}
		if reason := invent(); reason != TooManyResources {
			t.Errorf("more than in a second: %q", reason)
		}
		pass(time.Minute)
	})
}
