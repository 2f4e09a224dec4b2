package main

import (
	"slices"
	"testing"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, tc := range []struct {
		name   string
		values []int
		p      float64
		want   int
	}{
		{"one value", []int{7}, 99, 7},
		{"lower middle of two", []int{9, 3}, 50, 3},
		{"middle of three", []int{5, 1, 3}, 50, 3},
		{"99th of a hundred", hundred, 99, 99},
		{"all of a hundred", hundred, 100, 100},
	} {
		if got := percentile(slices.Clone(tc.values), tc.p); got != tc.want {
			t.Errorf("%s: %d, not %d", tc.name, got, tc.want)
		}
	}
}

func TestSpreadIsShownForSeveralRounds(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		want   string
	}{
		{[]float64{0.002}, "2.0"},
		{[]float64{0.003, 0.0015, 0.002}, "2.0 (1.5-3.0)"},
	} {
		m, spread := median(c.rounds)
		if got := spread.after("2.0", "%.1f", 1e3); m != 0.002 || got != c.want {
			t.Errorf("%v: median %v, %q, not %q", c.rounds, m, got, c.want)
		}
	}
}
