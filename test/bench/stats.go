package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// median returns the median and sorts the values.
func median[T cmp.Ordered](v []T) T { return percentile(v, 50) }

// percentile returns the p-th percentile by the nearest-rank method and sorts the values, which
// must not be empty.
func percentile[T cmp.Ordered](v []T, p float64) T {
	slices.Sort(v)
	rank := int(math.Ceil(float64(len(v)) * p / 100))
	return v[min(max(rank, 1), len(v))-1]
}

// spread is the range of a figure over its rounds.
type spread struct {
	Rounds int     `json:"rounds"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf returns the spread of a figure, of which there must be at least one.
func spreadOf(rounds []float64) spread {
	return spread{len(rounds), slices.Min(rounds), slices.Max(rounds)}
}

// after formats the spread, behind the median that it belongs to, with the values multiplied by a unit; it
// is empty for a single round.
func (s spread) after(median, format string, unit float64) string {
	if s.Rounds < 2 {
		return median
	}
	return fmt.Sprintf("%s ("+format+"-"+format+")", median, unit*s.Min, unit*s.Max)
}
