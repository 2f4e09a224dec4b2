package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// percentile returns the p-th percentile by the nearest-rank method and sorts the values, which
// must not be empty.
func percentile[T cmp.Ordered](v []T, p float64) T {
	slices.Sort(v)
	rank := int(math.Ceil(float64(len(v)) * p / 100))
	return v[min(max(rank, 1), len(v))-1]
}

// spread is the range of rounds.
type spread struct {
	Rounds int     `json:"rounds"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// median returns the median of the rounds, of which there must be one, and their range.
func median(rounds []float64) (float64, spread) {
	n := len(rounds)
	sorted := slices.Sorted(slices.Values(rounds))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, spread{n, sorted[0], sorted[n-1]}
}

// after formats the range, behind the median that it belongs to, with the values multiplied by a unit; it is empty for a
// single round.
func (s spread) after(median, format string, unit float64) string {
	if s.Rounds < 2 {
		return median
	}
	return fmt.Sprintf("%s ("+format+"-"+format+")", median, unit*s.Min, unit*s.Max)
}
