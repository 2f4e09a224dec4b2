package main

import "testing"

func TestSourcesNameReasonsOnlyWhenRequestsPass(t *testing.T) {
	before := tally{"cache: any-version": 2, "passed: format": 1}
	for _, tc := range []struct {
		name string
		now  tally
		want string
	}{
		{"hits", tally{"cache: any-version": 5, "passed: format": 1}, "cache"},
		{"a pass", tally{"cache: any-version": 2, "passed: format": 3}, "passed: format (2)"},
		{"both", tally{"cache: any-version": 3, "passed: format": 2}, "cache: any-version (1), passed: format (1)"},
	} {
		if got := tc.now.since(before).String(); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}
