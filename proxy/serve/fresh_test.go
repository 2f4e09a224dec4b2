package serve

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/servetest"
)

const (
	// ownWatchWait is how long a read waits for the own watch of a store, and silentWait how long a lone read of a
	// resource without events does.
	ownWatchWait = 15 * time.Millisecond
	silentWait   = 3 * time.Millisecond
)

// largeFoos is foos with objects that are longer than a small read.
func largeFoos(n int) *resources.CachedResource { return paddedFoos(n, 2*smallBytes) }

// hugeFoos is foos with objects so long that a read of one takes longer than a second watch.
func hugeFoos(n int) *resources.CachedResource { return paddedFoos(n, 26*smallBytes) }

func paddedFoos(n, padding int) *resources.CachedResource {
	c := servetest.Foos(n)
	var objects []*tree.Object
	for o := range c.Store.Snapshot().Objects(tree.Range{}) {
		objects = append(objects, &tree.Object{Key: o.Key, RV: o.RV, Data: append(bytes.Clone(o.Data), bytes.Repeat([]byte(" "), padding)...)})
	}
	c.Store = cache.New(cache.Options{}, objects, uint64(n))
	return c
}

// The store of every row begins with three objects, at version 3.
func TestConsistentRead(t *testing.T) {
	const (
		list = "/apis/ex.io/v1/foos"
		ns   = "/apis/ex.io/v1/namespaces/"
		soon = 2 * time.Millisecond
	)
	event := func(version uint64) func(*env) {
		return func(e *env) { e.Apply(cache.Added, servetest.Foo(int(version), version)) }
	}
	present := []*tree.Object{servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3)}
	future := append(slices.Clone(present), servetest.Foo(4, 4))
	for _, row := range []struct {
		law      string
		url      string
		resource func(int) *resources.CachedResource
		version  uint64         // of the apiserver; 0 if it cannot be reached
		bookmark uint64         // of a second watch
		listed   []*tree.Object // by an inventory; nil if it fails
		slow     time.Duration  // how long a probe takes
		busy     bool           // an event, at version 4, has just arrived
		shared   bool           // another read is under way
		at       time.Duration  // when happens happens
		happens  func(*env)
		reason   string
		passes   bool
		took     time.Duration
		doubt    bool // the watch of the store is away
	}{
		{law: "AtAnyVersionNeedsNoProof", url: list + "?resourceVersion=0", reason: "any-version"},
		{law: "AtAVersionThatIsReachedNeedsNoProof", url: list + "?resourceVersion=2", reason: "any-version"},
		{law: "AtAVersionOfTheFuturePasses", url: list + "?resourceVersion=9", version: 8, reason: "version-not-reached", passes: true},
		{law: "WaitsForTheProbe", url: list, version: 3, slow: time.Second, reason: "up-to-date", took: time.Second},
		{law: "IsProvenByAnEvent", url: list, version: 4, at: soon, happens: event(4), reason: "own-watch", took: soon},
		{law: "IsProvenByALaterEvent", url: list, version: 4, at: soon, happens: event(7), reason: "own-watch", took: soon},
		{law: "IsProvenByABookmark", url: list, version: 9, at: soon, happens: func(e *env) { bookmarked(9)(e, nil) }, reason: "own-watch", took: soon},
		{law: "IsNotProvenByALateEvent", url: list, version: 4, at: 4 * time.Millisecond, happens: event(4), reason: "small-read", passes: true, took: silentWait},
		{law: "OfABusyResourceIsProvenByALaterEvent", url: list, busy: true, version: 5, at: 10 * time.Millisecond, happens: event(5), reason: "own-watch", took: 10 * time.Millisecond},
		{law: "BesideOthersIsProvenByALaterEvent", url: list, shared: true, version: 4, at: 10 * time.Millisecond, happens: event(4), reason: "own-watch", took: 10 * time.Millisecond},
		{law: "IsNotProvenByAnEarlierEvent", url: list, version: 9, at: soon, happens: event(8), reason: "small-read", passes: true, took: silentWait},
		{law: "NotOlderThanAVersionIsProvenByIt", url: list + "?resourceVersion=4", version: 9, at: soon, happens: event(4), reason: "own-watch", took: soon},
		{law: "OfAnExactVersionComesFromTheHistory", url: list + "?resourceVersion=3&resourceVersionMatch=Exact", reason: "past-version"},
		{law: "OfAnExactVersionWaitsForIt", url: list + "?resourceVersion=4&resourceVersionMatch=Exact", version: 9, at: soon, happens: event(4), reason: "past-version", took: soon},
		{
			law: "OfAnExactVersionBeforeTheHistoryPasses", url: list + "?resourceVersion=2&resourceVersionMatch=Exact",
			reason: "version-before-history", passes: true,
		},

		{law: "IsProvenByAnInventory", url: list, version: 9, listed: present, reason: "roll-call"},
		{law: "WaitsForTheInventory", url: list, version: 9, listed: present, slow: time.Second / 2, reason: "roll-call", took: time.Second / 2},
		{law: "OfOneObjectIsProvenByAnInventory", url: ns + "ns/foos/f000001?resourceVersion=9", version: 9, listed: present, reason: "roll-call"},
		{law: "IsProvenByAnInventoryOnceTheEventsHaveArrived", url: list, version: 9, listed: future, at: soon, happens: event(4), reason: "roll-call", took: soon},
		{law: "IsNotProvenByAnInventoryOfAnotherState", url: list, version: 9, listed: future, at: soon, happens: event(5), reason: "small-read", passes: true, took: silentWait},
		{law: "OfTheFuturePassesAfterTheInventory", url: list + "?resourceVersion=10", version: 9, listed: present, reason: "version-not-reached", passes: true},

		{law: "OfLittlePassesWithoutProof", url: list, version: 4, bookmark: 4, reason: "small-read", passes: true, took: silentWait},
		{law: "OfASmallPagePassesWithoutProof", url: list + "?limit=500", resource: largeFoos, version: 4, bookmark: 4, reason: "small-read", passes: true, took: silentWait},
		{law: "OfAnEmptyNamespacePassesWithoutProof", url: ns + "other/foos", resource: largeFoos, version: 4, bookmark: 4, reason: "small-read", passes: true, took: silentWait},
		{law: "OfMuchPassesWhereTheRollCannotBeCalled", url: list, resource: largeFoos, version: 9, bookmark: 9, reason: "small-read", passes: true, took: silentWait},
		{law: "OfMuchWaitsForASecondWatch", url: list, resource: hugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfALargePageWaitsForASecondWatch", url: list + "?limit=501", resource: hugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfALargeObjectWaitsForASecondWatch", url: ns + "ns/foos/f000001?resourceVersion=9", resource: hugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfMuchAcceptsALateEvent", url: list, resource: hugeFoos, version: 4, at: 2 * time.Second, happens: event(4), reason: "own-watch", took: 2 * time.Second},
		{law: "OfMuchPassesWithoutProofInTime", url: list, resource: hugeFoos, version: 9, bookmark: 8, reason: "not-proven-in-time", passes: true, took: proofLimit},

		{law: "InDoubtIsNotProvenByItsVersion", url: list, resource: hugeFoos, doubt: true, version: 3, reason: "not-proven-in-time", passes: true, took: proofLimit},
		{law: "InDoubtIsNotProvenByASecondWatch", url: list, resource: hugeFoos, doubt: true, version: 9, bookmark: 9, reason: "not-proven-in-time", passes: true, took: proofLimit},
		{law: "InDoubtIsProvenByTheVerdict", url: list, resource: hugeFoos, doubt: true, version: 3, at: time.Second, happens: func(e *env) { e.Resource.Store.Trust() }, reason: "own-watch", took: time.Second},
		{law: "InDoubtIsProvenByAnInventory", url: list, doubt: true, version: 9, listed: present, reason: "roll-call"},

		{law: "PassesWhileTheAPIServerCannotBeReached", url: list, reason: "not-proven-in-time", passes: true},
		{law: "PassesWhileTheAPIServerIsSlow", url: list, version: 3, slow: time.Minute, reason: "not-proven-in-time", passes: true, took: proofLimit},
		{
			law: "PassesWhenTheStoreEnds", url: list, resource: hugeFoos, version: 9, at: time.Second, happens: func(e *env) { storeEnds(e, nil) },
			reason: "not-proven-in-time", passes: true, took: time.Second,
		},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servetest.Foos(3)
				if row.resource != nil {
					c = row.resource(3)
				}
				e := newEnv(t, c, Options{})
				e.Apiserver.Set(row.version, row.bookmark)
				if row.listed != nil {
					e.Apiserver.SetListed(row.version, row.listed...)
				}
				e.Apiserver.Slow = row.slow
				if row.doubt {
					e.Resource.Store.Doubt()
				}
				if row.busy {
					event(4)(e)
				}
				if row.shared {
					defer e.Resource.Fence.Begin(0).End()
				}
				if row.happens != nil {
					time.AfterFunc(row.at, func() { row.happens(e) })
				}
				start := time.Now()
				outcome := e.Do(&servetest.WatchClient{}, e.Request(row.url, nil))
				took := time.Since(start)
				if outcome.Reason != row.reason || (outcome.Source == request.SourceCache) == row.passes || (e.Passed != nil) != row.passes || took != row.took {
					t.Errorf("%q, %s after %v, want %s after %v", outcome.Source, outcome.Reason, took, row.reason, row.took)
				}
				time.Sleep(row.slow)
			})
		})
	}
}

// Once a reader has waited in vain, others pass at once until a proof succeeds.
func TestReadsPassAtOnceAfterAProofThatDidNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, hugeFoos(3), Options{})
		e.Apiserver.Set(9, 0)
		read := func(url, reason string, passes bool, took time.Duration) {
			t.Helper()
			start := time.Now()
			outcome := e.Do(&servetest.WatchClient{}, e.Request(url, nil))
			if got := time.Since(start); outcome.Reason != reason || (e.Passed != nil) != passes || got != took {
				t.Errorf("%s: %+v after %v, want %s after %v", url, outcome, got, reason, took)
			}
		}
		const stream = fooWatch + streaming + bookmarks + "&timeoutSeconds=1"
		read(servetest.FooList, "not-proven-in-time", true, proofLimit)
		read(servetest.FooList, "not-proven-in-time", true, 0)
		read(stream, "not-proven-in-time", true, 0)
		if err := e.Resource.Store.ApplyBookmark(9); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		read(servetest.FooList, "up-to-date", false, 0)
		read(stream, "up-to-date", false, time.Second)
	})
}

// A read by the indexed field is as small as what it selects.
func TestReadByTheIndexedFieldIsAsSmallAsItsSelection(t *testing.T) {
	field := 0
	var objects []*tree.Object
	for i := range 1000 {
		o := servetest.Foo(i, uint64(i+1))
		objects = append(objects, &tree.Object{
			Key: o.Key, RV: o.RV, Fields: []string{[]string{"node", "other"}[min(i, 1)]}, Data: append(o.Data, bytes.Repeat([]byte(" "), 4<<10)...),
		})
	}
	state := cache.New(cache.Options{Index: &field}, objects, 1000).Snapshot()
	node := "node"
	for _, row := range []struct {
		selection selection
		small     bool
	}{{selection{}, false}, {selection{indexed: &node}, true}} {
		p := &plan{selection: row.selection}
		if bytes, small := p.weigh(state); small != row.small {
			t.Errorf("%d bytes are small: %v", bytes, small)
		}
	}
}

// A read by labels or fields that matches little costs the apiserver a scan, not the length of all objects.
func TestASelectionIsAsSmallAsWhatMatchesOnceItIsIndexed(t *testing.T) {
	var objects []*tree.Object
	for i := range 10_000 {
		o := servetest.Foo(i, uint64(i+1))
		o.Labels, o.Fields = []tree.Label{{Key: "app", Value: strconv.Itoa(i / 1000)}}, []string{strconv.Itoa(i % 10)}
		objects = append(objects, o)
	}
	state := cache.New(cache.Options{}, objects, 10_000).Snapshot()
	all, _ := (&plan{}).weigh(state)
	for name, require := range map[string]func(*tree.Terms){
		"label": func(t *tree.Terms) { t.RequireLabel("app", "3") },
		"field": func(t *tree.Terms) { t.RequireField(0, "7") },
		"both":  func(t *tree.Terms) { t.RequireLabel("app", "3"); t.RequireField(0, "7") },
		"none":  func(t *tree.Terms) { t.RequireLabel("app", "absent") },
	} {
		p := &plan{indexes: tree.NewBudget(1 << 20)}
		require(&p.selection.terms)
		want := map[string]int64{"label": all / 10, "field": all / 10, "both": all / 100, "none": 0}[name] + 10_000*scanBytes
		p.weigh(state) // the first read of a segment makes no index
		if bytes, _ := p.weigh(state); bytes < want*9/10 || bytes > want*11/10 {
			t.Errorf("%s: weighs %d bytes of %d, want %d", name, bytes, all, want)
		}
	}
}

// What a read costs is charged to the budget of proofs: less than nothing would fill it.
func TestNoLimitMakesTheSizeOfAReadOverflow(t *testing.T) {
	state := servetest.Foos(600).Store.Snapshot()
	whole, each := state.Bytes(), averageBytes(state)
	for limit, want := range map[int64]int64{
		0: whole, 1: each, 599: 599 * each, 1000: whole, math.MaxInt64: whole, math.MaxInt64/each + 1: whole, math.MaxInt64/each*2 + 3: whole,
	} {
		p := &plan{options: request.ListOptions{Limit: limit}}
		if got, _ := p.weigh(state); got != want {
			t.Errorf("limit %d: %d bytes of %d, want %d", limit, got, whole, want)
		}
	}
}
