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

// tally is a reading of a counter by its labels, or the difference of two.
type tally map[string]float64

// readSources counts a Sluice's requests for pods by the source of the response (cache or passed)
// and the reason.
func readSources(s *harness.Sluice, verb string) (tally, error) {
	metrics, err := s.Metrics()
	if err != nil {
		return nil, err
	}
	all := tally{}
	for _, sample := range metrics.Samples("sluice_request_total") {
		if sample.Labels["resource"] != "pods" || sample.Labels["verb"] != verb {
			continue
		}
		kind := "passed"
		if sample.Labels["source"] == fromCache {
			kind = fromCache
		}
		all[kind+": "+sample.Labels["reason"]] += sample.Value
	}
	return all, nil
}

// sourcesSince waits until Sluice has counted n more requests than before and returns the
// difference.
func sourcesSince(
	ctx context.Context, s *harness.Sluice, verb string, before tally, n int,
) (tally, error) {
	limit := time.Now().Add(closeLimit)
	for {
		after, err := readSources(s, verb)
		if err != nil {
			return nil, err
		}
		served := after.since(before)
		if served.total() >= float64(n) {
			return served, nil
		}
		if time.Now().After(limit) {
			return nil, fmt.Errorf("%.0f of %d requests have ended after %s", served.total(), n, closeLimit)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// readProofs counts a Sluice's consistent reads by what proved the state.
func readProofs(s *harness.Sluice) (tally, error) {
	metrics, err := s.Metrics()
	if err != nil {
		return nil, err
	}
	all := tally{}
	for _, sample := range metrics.Samples("sluice_fence_proofs_total") {
		all[sample.Labels["proof"]] += sample.Value
	}
	return all, nil
}

// readProofCost reads what the proofs of a Sluice that reads from the apiserver have cost there, by its
// own estimate.
func readProofCost(s *harness.Sluice) (c proofCost, err error) {
	metrics, err := s.Metrics()
	if err != nil {
		return c, err
	}
	c.seconds = metrics.Sum("sluice_store_proof_seconds_total", "resource=pods")
	c.lent = metrics.Sum("sluice_store_lent_seconds_total", "resource=pods")
	return c, nil
}

// proofCost is what proofs cost the apiserver.
type proofCost struct {
	seconds float64 // charged to the budget of the resource
	lent    float64 // beyond it
}

func (c proofCost) since(before proofCost) proofCost {
	return proofCost{c.seconds - before.seconds, c.lent - before.lent}
}

// closeLimit bounds the time in which a server notices that watches are closed.
const closeLimit = time.Minute

// awaitClosed waits until the apiserver has noticed that the watches of pods of the round before
// are closed: only its own ones and Sluice's remain. After closeLimit the round counts what is
// there.
func (e *env) awaitClosed(ctx context.Context) error {
	for limit := time.Now().Add(closeLimit); time.Now().Before(limit); {
		open, err := podWatches(ctx, e.controlPlane)
		if err != nil || open <= e.ownWatches+1 {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
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

// podWatches returns the number of watches of pods at the apiserver, its own included.
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
