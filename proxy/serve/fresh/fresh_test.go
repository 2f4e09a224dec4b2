package fresh_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// ownWatchWait is how long a read waits for the own watch of a store, and silentWait how long a lone read of a
	// resource without events does.
	ownWatchWait = 15 * time.Millisecond
	silentWait   = 3 * time.Millisecond
)

// nowhere is a client that keeps nothing of a body.
type nowhere struct{ servetest.WatchClient }

// Write implements http.ResponseWriter.
func (*nowhere) Write(p []byte) (int, error) { return len(p), nil }

// The store of every row begins with three objects, at version 3.
func TestConsistentRead(t *testing.T) {
	const (
		list = "/apis/ex.io/v1/foos"
		ns   = "/apis/ex.io/v1/namespaces/"
		soon = 2 * time.Millisecond
	)
	const shard = "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')"
	began := func(n int) *resources.CachedResource {
		c := servetest.Foos(n)
		c.Began = time.Now().Add(-time.Second)
		return c
	}
	event := func(version uint64) func(*servetest.Env) {
		return func(e *servetest.Env) { e.Apply(cache.Added, servetest.Foo(int(version), version)) }
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
		happens  func(*servetest.Env)
		reason   string
		passes   bool
		took     time.Duration
		doubt    bool // the watch of the store is away
	}{
		{law: "AtAnyVersionNeedsNoProof", url: list + "?resourceVersion=0", reason: "any-version"},
		{law: "AtAVersionThatIsReachedNeedsNoProof", url: list + "?resourceVersion=2", reason: "any-version"},
		{law: "IsNotProvenByAStoreThatBeganBeforeIt", url: list, resource: began, version: 9, listed: present, reason: "roll-call"},
		{law: "OfAShardWaitsForASecondWatch", url: list + "?shardSelector=" + shard, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "AtAVersionOfTheFuturePasses", url: list + "?resourceVersion=9", version: 8, reason: "version-not-reached", passes: true},
		{law: "WaitsForTheProbe", url: list, version: 3, slow: time.Second, reason: "up-to-date", took: time.Second},
		{law: "IsProvenByAnEvent", url: list, version: 4, at: soon, happens: event(4), reason: "own-watch", took: soon},
		{law: "IsProvenByALaterEvent", url: list, version: 4, at: soon, happens: event(7), reason: "own-watch", took: soon},
		{law: "IsProvenByABookmark", url: list, version: 9, at: soon, happens: func(e *servetest.Env) { _ = e.Writer().ApplyBookmark(9) }, reason: "own-watch", took: soon},
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
		{law: "OfASmallPagePassesWithoutProof", url: list + "?limit=500", resource: servetest.LargeFoos, version: 4, bookmark: 4, reason: "small-read", passes: true, took: silentWait},
		{law: "OfAnEmptyNamespacePassesWithoutProof", url: ns + "other/foos", resource: servetest.LargeFoos, version: 4, bookmark: 4, reason: "small-read", passes: true, took: silentWait},
		{law: "OfMuchPassesWhereTheRollCannotBeCalled", url: list, resource: servetest.LargeFoos, version: 9, bookmark: 9, reason: "small-read", passes: true, took: silentWait},
		{law: "OfMuchWaitsForASecondWatch", url: list, resource: servetest.HugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfALargePageWaitsForASecondWatch", url: list + "?limit=501", resource: servetest.HugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfALargeObjectWaitsForASecondWatch", url: ns + "ns/foos/f000001?resourceVersion=9", resource: servetest.HugeFoos, version: 9, bookmark: 9, reason: "probe-watch", took: silentWait},
		{law: "OfMuchAcceptsALateEvent", url: list, resource: servetest.HugeFoos, version: 4, at: 2 * time.Second, happens: event(4), reason: "own-watch", took: 2 * time.Second},
		{law: "OfMuchPassesWithoutProofInTime", url: list, resource: servetest.HugeFoos, version: 9, bookmark: 8, reason: "not-proven-in-time", passes: true, took: fresh.ProofLimit},

		{law: "InDoubtIsNotProvenByItsVersion", url: list, resource: servetest.HugeFoos, doubt: true, version: 3, reason: "not-proven-in-time", passes: true, took: fresh.ProofLimit},
		{law: "InDoubtIsNotProvenByASecondWatch", url: list, resource: servetest.HugeFoos, doubt: true, version: 9, bookmark: 9, reason: "not-proven-in-time", passes: true, took: fresh.ProofLimit},
		{law: "InDoubtIsProvenByTheVerdict", url: list, resource: servetest.HugeFoos, doubt: true, version: 3, at: time.Second, happens: func(e *servetest.Env) { e.Writer().Trust() }, reason: "own-watch", took: time.Second},
		{law: "InDoubtIsProvenByAnInventory", url: list, doubt: true, version: 9, listed: present, reason: "roll-call"},

		{law: "PassesWhileTheAPIServerCannotBeReached", url: list, reason: "not-proven-in-time", passes: true},
		{law: "PassesWhileTheAPIServerIsSlow", url: list, version: 3, slow: time.Minute, reason: "not-proven-in-time", passes: true, took: fresh.ProofLimit},
		{
			law: "PassesWhenTheStoreEnds", url: list, resource: servetest.HugeFoos, version: 9, at: time.Second, happens: func(e *servetest.Env) { e.Writer().Close() },
			reason: "not-proven-in-time", passes: true, took: time.Second,
		},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servetest.Foos(3)
				if row.resource != nil {
					c = row.resource(3)
				}
				e := handlertest.New(t, c, serve.Options{Features: plan.Features{ShardSelector: true}})
				e.Apiserver.Set(row.version, row.bookmark)
				if row.listed != nil {
					e.Apiserver.SetListed(row.version, row.listed...)
				}
				e.Apiserver.Slow = row.slow
				if row.doubt {
					e.Writer().Doubt()
					time.Sleep(time.Nanosecond) // an inventory must be asked for later
				}
				if row.busy {
					event(4)(e)
				}
				if row.shared {
					defer e.Resource.Fence.Forward(0).End()
				}
				if row.happens != nil {
					time.AfterFunc(row.at, func() { row.happens(e) })
				}
				start := time.Now()
				outcome := e.Do(&nowhere{}, e.Request(row.url, nil))
				took := time.Since(start)
				if outcome.Reason != row.reason || (outcome.Source == request.SourceCache) == row.passes || (e.Passed != nil) != row.passes || took != row.took {
					t.Errorf("%q, %s after %v, want %s after %v", outcome.Source, outcome.Reason, took, row.reason, row.took)
				}
				time.Sleep(row.slow)
			})
		})
	}
}

// A read of any version may show a state of long ago, and must not claim to be of now.
func TestStateIsKnownSinceItsProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servetest.Foos(3)
		c.Began = time.Now() // the list that filled the store is its last proof
		e := handlertest.New(t, c, serve.Options{})
		for _, query := range []string{"?resourceVersion=0", "?resourceVersion=2"} {
			time.Sleep(time.Minute)
			if known := e.Do(&nowhere{}, e.Request(servetest.FooList+query, nil)).AsOf.Known; !known.Equal(c.Began) {
				t.Errorf("%q: known %v after the proof", query, known.Sub(c.Began))
			}
		}
	})
}

// Once a reader has waited in vain, others pass at once until a proof succeeds.
func TestReadsPassAtOnceAfterAProofThatDidNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.HugeFoos(3), serve.Options{})
		e.Apiserver.Set(9, 0)
		read := func(url, reason string, passes bool, took time.Duration) {
			t.Helper()
			start := time.Now()
			outcome := e.Do(&nowhere{}, e.Request(url, nil))
			if got := time.Since(start); outcome.Reason != reason || (e.Passed != nil) != passes || got != took {
				t.Errorf("%s: %+v after %v, want %s after %v", url, outcome, got, reason, took)
			}
		}
		const stream = servetest.FooWatch + servetest.Streaming + servetest.Bookmarks + "&timeoutSeconds=1"
		read(servetest.FooList, "not-proven-in-time", true, fresh.ProofLimit)
		read(servetest.FooList, "not-proven-in-time", true, 0)
		read(stream, "not-proven-in-time", true, 0)
		if err := e.Writer().ApplyBookmark(9); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		read(servetest.FooList, "up-to-date", false, 0)
		read(stream, "up-to-date", false, time.Second)
	})
}

// A store that is always some moments late would never show a read whose retry needed a newer version.
func TestARetryNeedsNoNewerVersionThanTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.HugeFoos(3), serve.Options{})
		e.Apiserver.Set(9, 0)
		p := &plan.Plan{Query: plan.Query{Info: &request.Info{}, Verb: negotiate.List, Match: plan.MatchMostRecent}, Resource: e.Resource}
		a := &fresh.Attempt{Proofs: fresh.NewMetrics(nil).Since(time.Now()), Began: time.Now()}
		if _, err := a.EnsureFresh(t.Context(), p, false); !errors.Is(err, outcome.NotProvenInTime) {
			t.Fatal(err)
		}
		e.Apiserver.Set(12, 0)
		if err := e.Writer().ApplyBookmark(9); err != nil {
			t.Fatal(err)
		}
		retried := time.Now()
		if _, err := a.EnsureFresh(t.Context(), p, false); err != nil || time.Since(retried) > 0 {
			t.Errorf("%v after %v", err, time.Since(retried))
		}
	})
}
