package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// percentile returns the p-th percentile by the nearest-rank method and sorts the values, which
// must not be empty.
func percentile[T cmp.Ordered](v []T, p float64) T {
	slices.Sort(v)
	rank := int(math.Ceil(float64(len(v)) * p / 100))
	return v[min(max(rank, 1), len(v))-1]
}

// spread is the confidence interval of a median of rounds.
type spread struct {
	Rounds int     `json:"rounds"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// confidence is the level of the intervals. Few rounds have a lower level: the one that their whole range has.
const confidence = 0.95

// median returns the median of the rounds, of which there must be one, and its confidence interval.
func median(rounds []float64) (float64, spread) {
	n := len(rounds)
	if n == 1 {
		return rounds[0], spread{1, rounds[0], rounds[0]}
	}
	level := min(confidence, 1-math.Pow(0.5, float64(n-1)))
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(rounds, &benchmath.DefaultThresholds), level)
	return s.Center, spread{n, s.Lo, s.Hi}
}

// after formats the interval, behind the median that it belongs to, with the values multiplied by a unit; it
// is empty for a single round.
func (s spread) after(median, format string, unit float64) string {
	if s.Rounds < 2 {
		return median
	}
	return fmt.Sprintf("%s ("+format+"-"+format+")", median, unit*s.Min, unit*s.Max)
}
