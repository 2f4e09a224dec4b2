package main

import (
	"cmp"
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
