package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// row is what one scenario has measured: a row of a table.
type row struct {
	Table  string `json:"table"`
	Case   string `json:"case"`
	What   string `json:"what,omitempty"`   // of the case: a format, a moment, a victim
	Target string `json:"target,omitempty"` // of all figures; empty if there are several
	Source string `json:"source,omitempty"` // where Sluice served the requests from
	Note   string `json:"note,omitempty"`
	// Objects are in the cluster, and Clients read.
	Objects int `json:"objects,omitempty"`
	Clients int `json:"clients,omitempty"`
	// By has the figures by target, or by moment. It lacks a target that was skipped.
	By map[string]*figures `json:"by"`
}

// The moments that figures may be of, besides targets.
const (
	quietly    = "before"    // what is measured has come
	attacked   = "with"      // it
	meanwhile  = "meanwhile" // at the apiserver itself
	joining    = "joined"    // those who come
	serving    = "served"    // from when all have joined
	returning  = "back"      // after a restart
	updateName = "update"    // of objects that are watched
	listed     = "list"      // lists that are answered
	holding    = "informer"  // that has all objects
)

// figures are what was measured at a target or at a moment.
type figures struct {
	Requests int     `json:"requests,omitempty"` // or events
	CPU      float64 `json:"cpuSeconds,omitempty"`
	// First is the CPU of the first response: it encodes segments that later responses reuse.
	First    float64 `json:"firstCPUSeconds,omitempty"`
	Client   float64 `json:"clientCPUSeconds,omitempty"`
	Upstream float64 `json:"upstreamCPUSeconds,omitempty"` // of the control plane
	Own      float64 `json:"sluiceCPUSeconds,omitempty"`   // of all Sluices
	Share    float64 `json:"cpuShare,omitempty"`           // of a core
	P50      float64 `json:"p50Seconds,omitempty"`
	P99      float64 `json:"p99Seconds,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	Bytes    float64 `json:"bytes,omitempty"` // as sent
	Coding   string  `json:"contentEncoding,omitempty"`
	RSS      int64   `json:"rssBytes,omitempty"`
	Peak     int64   `json:"peakRSSBytes,omitempty"`
	Watches  int     `json:"watches,omitempty"`
	// Charged is the control plane's time that Sluice charged to the budget of its proofs, by its own estimate. Wall is
	// the time of all rounds.
	Charged float64 `json:"chargedSeconds,omitempty"`
	Wall    float64 `json:"allSeconds,omitempty"`
	Source  string  `json:"source,omitempty"`
	Proofs  string  `json:"proofs,omitempty"` // what proved Sluice's state
	Counts  tally   `json:"counts,omitempty"` // by reason of a failure, answer or kind

	CPUSpread spread `json:"cpuSpread,omitzero"`

	walls []time.Duration // of the requests that succeeded
}

func newRow(table, name string) *row {
	return &row{Table: table, Case: name, By: map[string]*figures{}}
}

// of returns the figures of a target or moment, or zero ones.
func (r *row) of(name string) *figures {
	if f := r.By[name]; f != nil {
		return f
	}
	return &figures{}
}

// timed adds the durations of requests to the figures.
func (f *figures) timed(walls []time.Duration) {
	f.walls = append(f.walls, walls...)
	f.Requests += len(walls)
	if len(f.walls) > 0 {
		sorted := slices.Clone(f.walls)
		f.P50, f.P99 = percentile(sorted, 50).Seconds(), percentile(sorted, 99).Seconds()
	}
}

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
