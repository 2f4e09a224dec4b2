package resources

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"sluice/test/support/fake"
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
	held(t, r, "watched", heldStore{idle: 2 * time.Minute, watched: true})
	idle := held(t, r, "idle", heldStore{idle: 2 * time.Minute})
	r.enforce(now)
	for gvr, e := range r.entries.m {
		if stopped(e) != (e == idle) {
			t.Errorf("%s is stopped: %v", gvr.Resource, stopped(e))
		}
	}
}
