package consistency

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// scenario is a set of loads and what happens during them.
type scenario struct {
	name  string
	seed  uint64
	loads []load
	// config is the configuration of Sluice; empty means the defaults.
	config string
	// front starts a server in front of Sluice and returns its configuration; nil for none.
	front func(t *testing.T, g *gateway) *rest.Config
	// before runs before the clients, which do not wait then until the resources are in sync; nil for nothing.
	before func(t *testing.T, e *execution)
	// during runs while all clients are running. The scenario ends when it returns.
	during func(t *testing.T, e *execution)
}

// execution is a running scenario.
type execution struct {
	scenario
	gateway   *gateway
	clock     history.Clock
	workloads []*workload
}

// note adds a note to the history of each resource.
func (e *execution) note(text string) {
	for _, wl := range e.workloads {
		wl.recorder.note(text)
	}
}

// run executes the scenario, and returns the workloads with the violations of their histories.
func (s scenario) run(t *testing.T) []*workload {
	t.Helper()
	createNamespaces(t, s.name)
	e := &execution{scenario: s, gateway: startGateway(t, s.config)}
	config := e.gateway.RESTConfig("admin") // of the server that the clients read from
	switch {
	case e.front != nil:
		config = e.front(t, e.gateway)
	case *direct:
		config = controlPlane.RESTConfig("admin")
	}
	for _, l := range s.loads {
		if l.custom() {
			l.define(t)
		}
		e.workloads = append(e.workloads, e.newWorkload(t, l, config))
	}
	if e.before != nil {
		e.before(t, e)
	}
	e.runClients(t)
	for _, wl := range e.workloads {
		h := &wl.recorder.history
		h.Log = wl.groundTruth.snapshot()
		wl.violations = history.Check(h)
		wl.clear(t)
	}
	return e.workloads
}

// runClients runs all clients. It stops writers and readers first, and watchers once they have
// received every event.
func (e *execution) runClients(t *testing.T) {
	t.Helper()
	var logs, watchers, readers, writers []func(context.Context)
	for _, wl := range e.workloads {
		logs = append(logs, wl.groundTruth.run)
		for _, w := range wl.watchers {
			watchers = append(watchers, w.run)
		}
		for _, r := range wl.readers {
			readers = append(readers, r.run)
		}
		for _, w := range wl.writers {
			writers = append(writers, w.run)
		}
	}
	stopLogs := start(t, logs)
	for _, wl := range e.workloads {
		wl.groundTruth.await(t, 1)
		wl.populate(t, e.name)
		if e.before == nil {
			e.gateway.WaitForCacheSync(t, wl.path("", ""), wl.report())
		}
	}
	stopWatchers, stopReaders, stopWriters := start(t, watchers), start(t, readers), start(t, writers)
	e.during(t, e)
	stopWriters()
	stopReaders()
	for _, wl := range e.workloads {
		wl.writeLast(t)
		wl.catchUp(t)
	}
	stopWatchers()
	stopLogs()
}

// start runs functions until stop is called or the test ends.
func start(t *testing.T, runs []func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(func() { run(ctx) })
	}
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// catchUpTimeout bounds the wait for the last events. A watcher that does not notice the loss of
// its connection resumes only after its watch has exceeded its timeout, and then may need some time
// on a loaded machine.
const catchUpTimeout = maxWatchSeconds*time.Second + watchGrace + 2*time.Minute

// catchUp waits until the watchers have received every event. The check reports those that have
// not.
func (wl *workload) catchUp(t *testing.T) {
	t.Helper()
	log := wl.groundTruth.snapshot()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTimeout)
	defer cancel()
	for _, w := range wl.watchers {
		events, err := log.In(w.scope)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			continue
		}
		until := events[len(events)-1].Version
		w.until.Store(until)
		for w.last.Load() < until && ctx.Err() == nil {
			wait(ctx, 10*time.Millisecond)
		}
		if last := w.last.Load(); last < until {
			t.Logf("%s of %s is at %d after %s, not at %d", w.name, wl.plural, last, catchUpTimeout, until)
		}
	}
}

// awaitReads waits until n reads of each resource are answered.
func (e *execution) awaitReads(t *testing.T, n int) {
	t.Helper()
	harness.Eventually(t, "reads are answered", func() error {
		for _, wl := range e.workloads {
			if have := wl.recorder.answers(); have < n {
				return fmt.Errorf("%d of %d of %s", have, n, wl.plural)
			}
		}
		return nil
	})
}

// recoveryTimeout bounds the recovery after the last fault.
const recoveryTimeout = 4 * time.Minute

// waitForRecovery waits until every resource is in sync again and reads are answered, enough of
// them over the whole run: a loaded machine needs longer for the faults than they last. If they are
// not, the test goes on, because the violations may show why.
func (e *execution) waitForRecovery(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recoveryTimeout)
	defer cancel()
	for n, wl := range e.workloads {
		synced := func() error { return e.gateway.CacheSynced(ctx, wl.path("", ""), wl.report()) }
		goal := wl.recorder.answers() + 2*len(wl.readers)
		answered := func() error {
			if have := wl.recorder.answers(); have < goal {
				return fmt.Errorf("%d reads are answered instead of %d", have, goal)
			}
			return nil
		}
		for _, condition := range []func() error{synced, answered, func() error { return wl.shortage(n) }} {
			if err := harness.Poll(ctx, condition); err != nil {
				t.Errorf("%s has not recovered within %s: %v", wl.plural, recoveryTimeout, err)
			}
		}
	}
}
