package main

import (
	"cmp"
	"math"
	"slices"
)

// median of the values, which it sorts.
func median[T cmp.Ordered](v []T) T { return percentile(v, 50) }

// percentile is the smallest value that is not below p percent of them. It sorts them; there must be
// one.
func percentile[T cmp.Ordered](v []T, p float64) T {
	slices.Sort(v)
	rank := int(math.Ceil(float64(len(v)) * p / 100))
	return v[min(max(rank, 1), len(v))-1]
}
