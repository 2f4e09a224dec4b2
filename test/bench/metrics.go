package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/test/harness"
)

// metric is one line of a metrics page.
type metric struct {
	labels map[string]string
	value  float64
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// metricsOf returns the metrics of this name.
func metricsOf(page, name string) []metric {
	var all []metric
	for line := range strings.SplitSeq(page, "\n") {
		rest, ok := strings.CutPrefix(line, name+"{")
		if !ok {
			continue
		}
		end := strings.LastIndexByte(rest, '}')
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[end+1:]), 64)
		if end < 0 || err != nil {
			continue
		}
		m := metric{labels: map[string]string{}, value: value}
		for _, pair := range label.FindAllStringSubmatch(rest[:end], -1) {
			m.labels[pair[1]] = pair[2]
		}
		all = append(all, m)
	}
	return all
}

// answers counts requests for pods by how Sluice answered them.
type answers map[string]float64

// answers reads the counters of Sluice for a verb.
func (b *bed) answers(verb string) (answers, error) {
	page, err := b.sluice.AdminGet("/metrics")
	if err != nil {
		return nil, err
	}
	all := answers{}
	for _, m := range metricsOf(page, "sluice_request_total") {
		if m.labels["resource"] != "pods" || m.labels["verb"] != verb {
			continue
		}
		kind := "passed"
		if m.labels["source"] == fromCache {
			kind = fromCache
		}
		all[kind+": "+m.labels["reason"]] += m.value
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
	n := 0.0
	for _, m := range metricsOf(string(page.Body), "apiserver_longrunning_requests") {
		if m.labels["verb"] == "WATCH" && m.labels["resource"] == "pods" {
			n += m.value
		}
	}
	return int(n), nil
}
