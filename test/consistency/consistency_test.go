package consistency

import (
	"context"
	"testing"
	"time"
)

// loads are those of the test, in the order of leastCached.
var loads = []load{
	busyBuiltin: {resource: configMaps, writers: 3, objects: 12, writing: 40 * time.Millisecond, readers: 5, reading: 30 * time.Millisecond, page: 12, watchers: 8},
	busyCustom:  {resource: beats, writers: 2, objects: 8, writing: 150 * time.Millisecond, readers: 2, reading: 60 * time.Millisecond, page: 6, watchers: 7},
	largeQuiet:  {resource: stills, still: 1000, writers: 1, objects: 5, writing: 1500 * time.Millisecond, readers: 6, reading: 300 * time.Millisecond, page: 200, watchers: 7},
	smallQuiet:  {resource: serviceAccounts, writers: 1, objects: 5, writing: 2 * time.Second, readers: 2, reading: 200 * time.Millisecond, page: 4, watchers: 6},
}

// mostShown bounds how many violations are printed.
const mostShown = 5

func TestPromisesAreKept(t *testing.T) {
	var kills, stops int
	start := time.Now()
	results := trial{name: "kept", seed: *seed, loads: loads, during: func(t *testing.T, p *play) {
		w := &weather{t: t, rnd: random(*seed, "weather"), link: p.gateway.link, lag: p.gateway.lag, note: p.note}
		ctx, cancel := context.WithTimeout(t.Context(), *duration)
		defer cancel()
		w.run(ctx)
		p.recovered(t)
		kills, stops = w.kills, w.stops
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

// judge fails the test with what was found.
func (r *result) judge(t *testing.T) {
	t.Helper()
	for n, v := range r.violations {
		if n == mostShown {
			t.Errorf("%s: and %d more", r.plural, len(r.violations)-n)
			break
		}
		t.Errorf("-consistency.seed=%d: %s: %s", *seed, r.plural, v)
	}
}

// checkShares checks that enough was asked and that Sluice did not leave too
// much of it to the apiserver.
func (r *result) checkShares(t *testing.T, load int) {
	t.Helper()
	if n := r.recorder.answers(); float64(n) < leastAnswers*duration.Seconds() {
		t.Errorf("%s: only %d reads were answered", r.plural, n)
	}
	if *direct {
		return
	}
	for kind, tally := range r.recorder.tallies {
		if least := leastCached[kind][load]; tally.answers > 0 && tally.share() < least {
			t.Errorf("%s: %s: %d of %d answers came from the cache, less than %.0f%%", r.plural, kind, tally.cached, tally.answers, 100*least)
		}
	}
}

// checkGone checks that no watcher was told that its version is gone where the
// apiserver would not have said so: it forgets when it starts again.
func (r *result) checkGone(t *testing.T, excuses int) {
	t.Helper()
	for _, w := range r.watchers {
		if w.gone > excuses {
			t.Errorf("%s: %s was told %d times that its version is gone", r.plural, w.name, w.gone)
		}
	}
}
