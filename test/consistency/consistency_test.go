package consistency

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// The loads, by index.
const (
	busyBuiltin = iota // ConfigMaps: few, always changing
	busyCustom         // beats: few, often changing
	largeQuiet         // stills: a thousand, rarely changing
	smallQuiet         // ServiceAccounts: few, rarely changing
	uncached           // reports: few, rarely changing, without watch cache at the apiserver
)

// minCachedShare is the least share of answers for ConfigMaps, which always change, that Sluice must serve from its
// cache, by kind of read, over a whole run with all faults.
var minCachedShare = map[string]float64{"paged, at a version": 0.25, "any": 0.25, "stream": 0.25, "get, several": 0.02}

// minReadsPerSecond is the least number of answered reads of each resource per second of a run.
const minReadsPerSecond = 1

// loads are those of the test.
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
	f := &faultInjector{t: t, rnd: random(*seed, "faultInjector"), starts: cacheStarts{}}
	before := cacheStarts{}
	start := time.Now()
	results := scenario{name: "faults", seed: *seed, loads: loads, during: func(t *testing.T, e *execution) {
		f.link, f.lag, f.note = e.gateway.link, e.gateway.lag, e.note
		before.add(t)
		ctx, cancel := context.WithTimeout(t.Context(), *duration)
		defer cancel()
		f.run(ctx)
		e.waitForRecovery(t)
		f.starts.add(t)
	}}.run(t)
	t.Logf("seed %d, %s of faults, %s in all: the apiserver was killed %d times and stopped %d times",
		*seed, *duration, time.Since(start).Round(time.Second), f.kills, f.stops)
	for n, r := range results {
		r.judge(t)
		if err := r.shortage(n); err != nil {
			t.Error(err)
		}
		r.checkGone(t, max(f.kills, f.starts[r.plural]-before[r.plural])+f.stops)
	}
}

// judge logs the summary, and fails the test with the violations.
func (wl *workload) judge(t *testing.T) {
	t.Helper()
	t.Log(wl.summary())
	for n, v := range wl.violations {
		if n == maxPrinted {
			t.Errorf("%s: and %d more", wl.plural, len(wl.violations)-n)
			break
		}
		t.Errorf("-consistency.seed=%d: %s: %s", *seed, wl.plural, v)
	}
}

// shortage returns an error unless enough reads were answered, and enough of them from the cache.
func (wl *workload) shortage(load int) error {
	if n := wl.recorder.answers(); float64(n) < minReadsPerSecond*duration.Seconds() {
		return fmt.Errorf("%s: only %d reads were answered", wl.plural, n)
	}
	if *direct {
		return nil
	}
	wl.recorder.mu.Lock()
	defer wl.recorder.mu.Unlock()
	var short []error
	for kind, results := range wl.recorder.tallies {
		answers, cached := results.ofSluice()
		if min := minCachedShare[kind]; load == busyBuiltin && float64(cached) < min*float64(answers) {
			short = append(short, fmt.Errorf("%s: %s: %d of %d answers came from the cache, less than %.0f%%", wl.plural, kind, cached, answers, 100*min))
		}
	}
	return errors.Join(short...)
}

// checkGone checks that no watcher received 410 Gone more often than the apiserver lost the history
// of its watch cache: by a restart, or because it began the cache anew, as it does on a loaded
// machine when etcd has lost its leader.
func (wl *workload) checkGone(t *testing.T, losses int) {
	t.Helper()
	for _, w := range wl.watchers {
		if w.gone > losses && w.scope.Namespaces == "" { // a watch of some namespaces does not pass where Sluice has lost its history
			t.Errorf("%s: %s received 410 Gone %d times, the apiserver lost its history %d times at most", wl.plural, w.name, w.gone, losses)
		}
	}
}

// cacheStarts counts how often the apiserver began each watch cache, by resource. A restart of it
// begins with 0.
type cacheStarts map[string]int

// add adds what the running apiserver has counted.
func (c cacheStarts) add(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	const starts = "apiserver_watch_cache_initializations_total"
	page, err := controlPlane.Metrics(ctx, starts)
	if err != nil {
		t.Log(err) // then fewer losses are known
	}
	for _, s := range page.Samples(starts) {
		c[s.Labels["resource"]] += int(s.Value)
	}
}
