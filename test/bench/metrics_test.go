package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsOf(t *testing.T) {
	page := `# HELP a_total Something.
a_total{resource="pods",reason="most recent, \"quoted\""} 3
a_total_other{resource="pods"} 4
a_total{resource="nodes",reason=""} 1e+06
a_total 5
`
	var got []map[string]string
	sum := 0.0
	for _, m := range metricsOf(page, "a_total") {
		got = append(got, m.labels)
		sum += m.value
	}
	want := []map[string]string{
		{"resource": "pods", "reason": `most recent, \"quoted\"`},
		{"resource": "nodes", "reason": ""},
	}
	if d := cmp.Diff(want, got); d != "" || sum != 1_000_003 {
		t.Errorf("sum %f, labels:\n%s", sum, d)
	}
}

func TestAnswers(t *testing.T) {
	before := answers{"cache: any-version": 2, "passed: format": 1}
	for _, tc := range []struct {
		name string
		now  answers
		want string
	}{
		{"hits", answers{"cache: any-version": 5, "passed: format": 1}, "cache"},
		{"a pass", answers{"cache: any-version": 2, "passed: format": 3}, "passed: format (2)"},
		{"both", answers{"cache: any-version": 3, "passed: format": 2}, "cache: any-version (1), passed: format (1)"},
	} {
		if got := tc.now.since(before).String(); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}
