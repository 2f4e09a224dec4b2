package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/test/harness"
)

// answers counts requests for pods by how Sluice answered them.
type answers map[string]float64

// answers reads the counters of Sluice for a verb.
func (b *bed) answers(verb string) (answers, error) {
	metrics, err := b.sluice.Metrics()
	if err != nil {
		return nil, err
	}
	all := answers{}
	for _, s := range metrics.Samples("sluice_request_total") {
		if s.Labels["resource"] != "pods" || s.Labels["verb"] != verb {
			continue
		}
		kind := "passed"
		if s.Labels["source"] == fromCache {
			kind = fromCache
		}
		all[kind+": "+s.Labels["reason"]] += s.Value
	}
	return all, nil
}

// answered waits until Sluice has counted n requests more than before, and returns how it answered them.
func (b *bed) answered(ctx context.Context, verb string, before answers, n int) (answers, error) {
	limit := time.Now().Add(closeLimit)
	for {
		after, err := b.answers(verb)
		if err != nil {
			return nil, err
		}
		how := after.since(before)
		if how.total() >= float64(n) {
			return how, nil
		}
		if time.Now().After(limit) {
			return nil, fmt.Errorf("%.0f of %d requests are over after %s", how.total(), n, closeLimit)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// closeLimit is how long a server may take to notice that watches are closed.
const closeLimit = 10 * time.Second

// fromCache is what Sluice calls an answer out of its cache.
const fromCache = "cache"

// since are the answers after those before.
func (a answers) since(before answers) answers {
	d := answers{}
	for how, n := range a {
		if n > before[how] {
			d[how] = n - before[how]
		}
	}
	return d
}

func (a answers) total() (n float64) {
	for _, v := range a {
		n += v
	}
	return n
}

// passed reports whether any of them was not answered out of the cache.
func (a answers) passed() bool {
	for how := range a {
		if !strings.HasPrefix(how, fromCache) {
			return true
		}
	}
	return false
}

// String tells why requests were passed, if any were.
func (a answers) String() string {
	if !a.passed() {
		return fromCache
	}
	return a.reasons()
}

// reasons tells how or why requests were answered as they were.
func (a answers) reasons() string {
	var parts []string
	for _, how := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, fmt.Sprintf("%s (%.0f)", how, a[how]))
	}
	return strings.Join(parts, ", ")
}

// podWatches is how many watches of pods the apiserver has open, its own among them.
func podWatches(ctx context.Context, plane *harness.ControlPlane) (int, error) {
	page, err := plane.Raw(user).Get(ctx, "/metrics", "text/plain")
	if err != nil {
		return 0, err
	}
	metrics, err := harness.ParseMetrics(bytes.NewReader(page.Body))
	if err != nil {
		return 0, err
	}
	return int(metrics.Sum("apiserver_longrunning_requests", "verb=WATCH", "resource=pods")), nil
}
