package consistency

import (
	"context"
	"testing"
	"time"
)

// loads are those of the test, in the order of minCachedShare.
var loads = []load{
	busyBuiltin: {resource: configMaps, writers: 3, objects: 12, writing: 40 * time.Millisecond, readers: 5, reading: 30 * time.Millisecond, page: 12, watchers: 8},
	busyCustom:  {resource: beats, writers: 2, objects: 8, writing: 150 * time.Millisecond, readers: 2, reading: 60 * time.Millisecond, page: 6, watchers: 7},
	largeQuiet:  {resource: stills, static: 1000, writers: 1, objects: 5, writing: 1500 * time.Millisecond, readers: 6, reading: 300 * time.Millisecond, page: 200, watchers: 7},
	smallQuiet:  {resource: serviceAccounts, writers: 1, objects: 5, writing: 2 * time.Second, readers: 2, reading: 200 * time.Millisecond, page: 4, watchers: 6},
	uncached:    {resource: reports, writers: 1, objects: 5, writing: time.Second, readers: 2, reading: 200 * time.Millisecond, page: 4, watchers: 7},
}

// maxPrinted bounds how many violations of a resource are printed.
const maxPrinted = 5

func TestPromisesHoldUnderFaults(t *testing.T) {
	var kills, stops int
	start := time.Now()
	results := scenario{name: "faults", seed: *seed, loads: loads, during: func(t *testing.T, e *execution) {
		f := &faultInjector{t: t, rnd: random(*seed, "faultInjector"), link: e.gateway.link, lag: e.gateway.lag, note: e.note}
		ctx, cancel := context.WithTimeout(t.Context(), *duration)
		defer cancel()
		f.run(ctx)
		e.waitForRecovery(t)
		kills, stops = f.kills, f.stops
	}}.run(t)
	t.Logf("seed %d, %s of faults, %s in all: the apiserver was killed %d times and stopped %d times",
		*seed, *duration, time.Since(start).Round(time.Second), kills, stops)
	for n, r := range results {
		t.Log(r.summary())
		r.judge(t)
		r.checkShares(t, n)
		r.checkGone(t, kills+stops)
	}
}

// judge fails the test with the violations.
func (r *result) judge(t *testing.T) {
	t.Helper()
	for n, v := range r.violations {
		if n == maxPrinted {
			t.Errorf("%s: and %d more", r.plural, len(r.violations)-n)
			break
		}
		t.Errorf("-consistency.seed=%d: %s: %s", *seed, r.plural, v)
	}
}

// checkShares checks that enough reads were answered, and enough of them from the cache.
func (r *result) checkShares(t *testing.T, load int) {
	t.Helper()
	if n := r.recorder.answers(); float64(n) < minReadsPerSecond*duration.Seconds() {
		t.Errorf("%s: only %d reads were answered", r.plural, n)
	}
	if *direct {
		return
	}
	for kind, tally := range r.recorder.tallies {
		if min := minCachedShare[kind][load]; tally.answers > 0 && tally.share() < min {
			t.Errorf("%s: %s: %d of %d answers came from the cache, less than %.0f%%", r.plural, kind, tally.cached, tally.answers, 100*min)
		}
	}
}

// checkGone checks that no watcher received 410 Gone more often than the apiserver restarted: a
// restart loses the history of its watch cache.
func (r *result) checkGone(t *testing.T, restarts int) {
	t.Helper()
	for _, w := range r.watchers {
		if w.gone > restarts {
			t.Errorf("%s: %s received 410 Gone %d times", r.plural, w.name, w.gone)
		}
	}
}
