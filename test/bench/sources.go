package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/test/abuse"
	"sluice/test/harness"
)

// tally is a reading of a counter by its labels, or the difference of two.
type tally abuse.Tally

// counted is what a Sluice has counted: of requests the source of the response (cache or passed) and the reason, and of
// consistent reads what proved the state.
type counted struct {
	sources, proofs tally
	charged         float64 // seconds that proofs have cost the apiserver, by Sluice's estimate
}

// count reads the metrics of a target, if it is a Sluice. Of two tiers, the lower one is charged: it reads from the apiserver.
func (w *world) count(t *target, verb string) (c counted) {
	if t.sluice == nil {
		return c
	}
	c.sources = tally{}
	metrics := must(t.sluice.Metrics())
	for _, sample := range metrics.Samples("sluice_request_total") {
		if !slices.Contains([]string{"pods", "configmaps"}, sample.Labels["resource"]) || sample.Labels["verb"] != verb {
			continue
		}
		kind := "passed"
		if sample.Labels["source"] == fromCache {
			kind = fromCache
		}
		c.sources[kind+": "+sample.Labels["reason"]] += int(sample.Value)
	}
	c.proofs = tallyOf(metrics, "sluice_fence_proofs_total", "proof")
	if t.sluice != w.cached.sluice {
		metrics = must(w.cached.sluice.Metrics())
	}
	c.charged = metrics.Sum("sluice_store_proof_seconds_total", "resource=pods")
	return c
}

// tallyOf returns what a metric has counted by a label.
func tallyOf(m harness.Metrics, name, label string) tally {
	t := tally{}
	for _, sample := range m.Samples(name) {
		t[sample.Labels[label]] += int(sample.Value)
	}
	return t
}

// countSince waits until a Sluice has counted n more requests than before and returns the difference.
func (w *world) countSince(ctx context.Context, t *target, verb string, before counted, n int) (d counted) {
	if before.sources == nil {
		return before
	}
	check(harness.Poll(ctx, func() error {
		after := w.count(t, verb)
		d = counted{after.sources.since(before.sources), after.proofs.since(before.proofs), after.charged - before.charged}
		if ended := d.sources.total(); ended < n {
			return fmt.Errorf("only %d of %d requests have ended", ended, n)
		}
		return nil
	}))
	return d
}

// fromCache is the value of the metric's source label for responses from the cache.
const fromCache = "cache"

// since returns the difference to an earlier reading.
func (a tally) since(before tally) tally {
	d := tally{}
	for how, n := range a {
		if n > before[how] {
			d[how] = n - before[how]
		}
	}
	return d
}

// add adds the counts of another reading.
func (a tally) add(b tally) {
	for how, n := range b {
		a[how] += n
	}
}

func (a tally) total() (n int) {
	for _, v := range a {
		n += v
	}
	return n
}

// passed reports whether any response did not come from the cache.
func (a tally) passed() bool {
	for how := range a {
		if !strings.HasPrefix(how, fromCache) {
			return true
		}
	}
	return false
}

// String returns fromCache, or all reasons if Sluice passed any request.
func (a tally) String() string {
	if !a.passed() {
		return fromCache
	}
	return a.reasons()
}

// reasons returns all sources with their reasons and counts.
func (a tally) reasons() string {
	var parts []string
	for _, how := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", how, a[how]))
	}
	return strings.Join(parts, ", ")
}
