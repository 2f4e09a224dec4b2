package resources

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/tree"
)

// heldStore describes a store: objects of 1,000 bytes each, and who has read it.
type heldStore struct {
	objects int
	idle    time.Duration // since the last read
	watched bool
	readers []Reader
}

// held adds a store to a Registry.
func held(t *testing.T, r *Registry, name string, h heldStore) *entry {
	t.Helper()
	var objects []*tree.Object
	for i := range h.objects {
		objects = append(objects, &tree.Object{Key: tree.Key(fmt.Sprintf("k%05d", i)), RV: 1, Data: make([]byte, 1000)})
	}
	store := cache.New(cache.Options{}, objects, 10).Store
	if h.watched {
		cursor, err := store.Watch(cache.Scope{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
	}
	e := newcomer(r, name, h)
	e.current.Store(&CachedResource{Store: store})
	r.measure(e)
	return e
}

// newcomer adds an entry without a store.
func newcomer(r *Registry, name string, h heldStore) *entry {
	at := time.Now().Add(-h.idle)
	d := &demand{}
	for _, reader := range h.readers {
		d.note(reader, at)
	}
	e := &entry{gvr: schema.GroupVersionResource{Resource: name}, demand: d, log: zap.NewNop()}
	e.stop = func() {}
	e.used.Store(at.UnixNano())
	r.entries.set(e.gvr, e)
	return e
}

// stopped reports whether an entry has been stopped.
func stopped(e *entry) bool { return e.charged == 0 }

var (
	alice, bob = Reader{User: "alice", Whole: true}, Reader{User: "bob", Whole: true}
	carol      = Reader{User: "carol"}
)

func TestStoresThatAreWorthLeastAreStoppedFirst(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		name   string
		stores map[string]heldStore
		first  []string // stopped one after the other, as the limit falls
	}{
		{"the one not used for longest", map[string]heldStore{
			"a": {objects: 10, idle: minute}, "b": {objects: 10, idle: 3 * minute}, "c": {objects: 10, idle: 2 * minute},
		}, []string{"b", "c", "a"}},
		{"the one without open watches", map[string]heldStore{
			"a": {objects: 10, readers: []Reader{alice}, watched: true, idle: minute}, "b": {objects: 10, readers: []Reader{bob}},
		}, []string{"b", "a"}},
		{"the one with fewer readers", map[string]heldStore{
			"a": {objects: 10, readers: []Reader{alice}}, "b": {objects: 10, readers: []Reader{alice, bob}}, "c": {objects: 10, readers: []Reader{alice}, idle: minute},
		}, []string{"c", "a", "b"}},
		{"the one that only a reader of a part reads", map[string]heldStore{
			"a": {objects: 1000, readers: []Reader{alice}, idle: 10 * minute}, "b": {objects: 1000, readers: []Reader{carol}, watched: true},
		}, []string{"b", "a"}},
		{"that of a reader of many", map[string]heldStore{
			"a": {objects: 10, readers: []Reader{alice}}, "b": {objects: 10, readers: []Reader{bob}},
			"c": {objects: 10, readers: []Reader{alice}, idle: minute}, "d": {objects: 10, readers: []Reader{alice}, idle: 2 * minute},
		}, []string{"d", "c", "a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}})
			for name, h := range tt.stores {
				held(t, r, name, h)
			}
			var order []string
			for range tt.stores {
				r.room.limit = r.room.used - 1
				r.enforce(time.Now())
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

// One large store that little is lost with makes more room than many small ones.
func TestLeastIsLostForTheRoomThatIsMissing(t *testing.T) {
	store := func(bytes int64, worth float64) usage { return usage{entry: &entry{}, bytes: bytes, worth: worth} }
	for _, tt := range []struct {
		missing int64
		stores  []usage
		lost    float64 // negative: there is not enough
	}{
		{10, []usage{store(1000, 5), store(10, 1)}, 1},
		{1000, []usage{store(1000, 5), store(10, 1)}, 5},
		{100, []usage{store(50, 1), store(50, 1), store(100, 3)}, 2},
		{100, []usage{store(50, 2), store(50, 2), store(100, 3)}, 3},
		{100, []usage{store(50, 1), store(100, 1), store(50, 1)}, 1},
		{100, []usage{store(99, 0)}, -1},
		{100, []usage{store(0, 0), store(200, 7)}, 7},
	} {
		victims, lost := leastUseful(slices.Clone(tt.stores), tt.missing)
		if enough := tt.lost >= 0; (victims != nil) != enough || enough && lost != tt.lost {
			t.Errorf("%d of %v: %v are lost with %v, want %v", tt.missing, tt.stores, lost, victims, tt.lost)
		}
	}
}

func TestNewcomerHasRoomIfItIsWorthMuchMore(t *testing.T) {
	many := func(reader Reader, n int) map[string]heldStore {
		stores := map[string]heldStore{}
		for i := range n {
			stores[fmt.Sprint("kind", i)] = heldStore{objects: 100, readers: []Reader{reader}}
		}
		return stores
	}
	for _, tt := range []struct {
		name     string
		stores   map[string]heldStore
		by       []Reader
		admitted bool
	}{
		{"than a store that nobody reads", map[string]heldStore{"a": {objects: 1000}}, []Reader{carol}, true},
		{"not as a store that as many read", map[string]heldStore{"a": {objects: 1000, readers: []Reader{alice}}}, []Reader{bob}, false},
		{"than a store that one reads", map[string]heldStore{"a": {objects: 1000, readers: []Reader{alice}}}, []Reader{bob, {User: "dave", Whole: true}}, true},
		{"not if it is for a reader of a part", map[string]heldStore{"a": {objects: 1000, readers: []Reader{alice}, idle: halfLife}}, []Reader{carol}, false},
		{"than those of one reader of parts", many(Reader{User: "mallory"}, 30), []Reader{carol}, true},
		{"not as those that another reads of many", many(alice, 30), []Reader{carol}, false},
		{"than some that another reads of many", many(alice, 30), []Reader{bob}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}})
			for name, h := range tt.stores {
				held(t, r, name, h)
			}
			r.room.limit = r.room.used
			e := newcomer(r, "new", heldStore{readers: tt.by})
			if admitted := r.claim(e, 2*storeOverhead, time.Now()); admitted != tt.admitted {
				t.Errorf("admitted: %v", admitted)
			}
			left := 0
			for _, e := range r.entries.m {
				if !stopped(e) {
					left++
				}
			}
			if !tt.admitted && left != len(tt.stores) {
				t.Errorf("%d stores are left of %d", left, len(tt.stores))
			}
			if r.room.used > r.room.limit {
				t.Errorf("%d bytes are used of %d", r.room.used, r.room.limit)
			}
		})
	}
}

// Two stores that do not fit together must not be filled by turns.
func TestStoppedStoreDoesNotStopTheOneThatTookItsRoom(t *testing.T) {
	r := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}})
	old := held(t, r, "old", heldStore{objects: 1000, readers: []Reader{alice}})
	r.room.limit = r.room.used + storeOverhead
	next := newcomer(r, "next", heldStore{readers: []Reader{bob, {User: "dave", Whole: true}}})
	if !r.claim(next, old.charged, time.Now()) || !stopped(old) {
		t.Fatal("the newcomer has no room")
	}
	again := newcomer(r, "old", heldStore{readers: []Reader{alice, bob}})
	if r.claim(again, next.charged, time.Now()) || stopped(next) {
		t.Error("the store that was stopped has stopped the one that took its room")
	}
}

// The room that is left must last for the growth of other stores.
func TestStoppedStoreComesBackWhenATenthOfTheRoomStaysFree(t *testing.T) {
	now := time.Now()
	r := New(Options{Log: zap.NewNop(), Limits: Limits{Bytes: 1 << 20, Idle: time.Hour}})
	e := newcomer(r, "a", heldStore{readers: []Reader{alice}})
	e.demand.remember(1<<20, now)
	if r.claim(e, 1000<<10, now) {
		t.Error("there is a place for all of the room")
	}
	if !r.claim(e, 900<<10, now) {
		t.Error("there is no place for less than nine tenths")
	}
	r.release(e)
	if !r.claim(e, 1000<<10, now.Add(stoppedLately)) {
		t.Error("there is no place later")
	}
}

func TestReadersOfWholeResourcesAreRememberedRatherThanOthers(t *testing.T) {
	now := time.Now()
	d := &demand{}
	for i := range 2 * maxReaders {
		d.note(Reader{User: fmt.Sprint("part", i)}, now)
	}
	if len(d.readers) != maxReaders {
		t.Errorf("%d readers are remembered", len(d.readers))
	}
	d.note(alice, now)
	d.note(Reader{User: "alice"}, now)
	if len(d.readers) != maxReaders || !d.readers["alice"].whole {
		t.Errorf("%d readers, alice is %+v", len(d.readers), d.readers["alice"])
	}
	for i := range maxReaders {
		d.note(Reader{User: fmt.Sprint("later", i)}, now.Add(time.Hour))
	}
	if _, known := d.readers["later63"]; !known || len(d.readers) != maxReaders {
		t.Errorf("%d readers, the last is among them: %v", len(d.readers), known)
	}
}
