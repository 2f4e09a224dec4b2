package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// tally is a reading of a counter by its labels, or the difference of two.
type tally map[string]float64

// counted is what a Sluice has counted: of requests for pods the source of the response (cache or passed) and the
// reason, and of consistent reads what proved the state.
type counted struct {
	sources, proofs tally
	// charged and lent are what proofs have cost the apiserver, by Sluice's estimate: within the budget of the
	// resource, and beyond it.
	charged, lent float64
}

// count reads the metrics of a target, if it is a Sluice. Of two tiers, the lower one is charged: it reads from the apiserver.
func (w *world) count(t *target, verb string) (c counted) {
	if t.sluice == nil || verb == "" {
		return c
	}
	c.sources, c.proofs = tally{}, tally{}
	metrics := must(t.sluice.Metrics())
	for _, sample := range metrics.Samples("sluice_request_total") {
		if sample.Labels["resource"] != "pods" || sample.Labels["verb"] != verb {
			continue
		}
		kind := "passed"
		if sample.Labels["source"] == fromCache {
			kind = fromCache
		}
		c.sources[kind+": "+sample.Labels["reason"]] += sample.Value
	}
	for _, sample := range metrics.Samples("sluice_fence_proofs_total") {
		c.proofs[sample.Labels["proof"]] += sample.Value
	}
	if t.sluice != w.sluice {
		metrics = must(w.sluice.Metrics())
	}
	c.charged = metrics.Sum("sluice_store_proof_seconds_total", "resource=pods")
	c.lent = metrics.Sum("sluice_store_lent_seconds_total", "resource=pods")
	return c
}

// countSince waits until a Sluice has counted n more requests than before and returns the difference.
func (w *world) countSince(ctx context.Context, t *target, verb string, before counted, n int) (d counted) {
	if before.sources == nil {
		return before
	}
	if !poll(ctx, 20*time.Millisecond, closeLimit, func() bool {
		after := w.count(t, verb)
		d = counted{
			after.sources.since(before.sources), after.proofs.since(before.proofs),
			after.charged - before.charged, after.lent - before.lent,
		}
		return d.sources.total() >= float64(n)
	}) {
		check(fmt.Errorf("%.0f of %d requests have ended after %s", d.sources.total(), n, closeLimit))
	}
	return d
}

// closeLimit bounds the time in which a server notices that watches are closed.
const closeLimit = time.Minute

// awaitClosed waits until the apiserver has noticed that the watches of pods of the round before
// are closed: only its own ones and Sluice's remain. After closeLimit the round counts what is
// there.
func (w *world) awaitClosed(ctx context.Context) {
	poll(ctx, 20*time.Millisecond, closeLimit, func() bool { return must(w.plane.PodWatches(ctx)) <= w.ownWatches+1 })
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

func (a tally) total() (n float64) {
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
		parts = append(parts, fmt.Sprintf("%s (%.0f)", how, a[how]))
	}
	return strings.Join(parts, ", ")
}
