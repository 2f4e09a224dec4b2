package main

import (
	"fmt"
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
	// By has the figures by target, or by moment. It lacks a target that was skipped or has failed.
	By map[string]*figures `json:"by"`

	failed map[string]bool // by target
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
	return &row{Table: table, Case: name, By: map[string]*figures{}, failed: map[string]bool{}}
}

// of returns the figures of a target or moment, or zero ones.
func (r *row) of(name string) *figures {
	if f := r.By[name]; f != nil {
		return f
	}
	return &figures{}
}

// fail replaces the target's figures by a note.
func (r *row) fail(target string, err error) {
	delete(r.By, target)
	r.failed[target] = true
	r.note("%s failed: %v", target, err)
}

func (r *row) note(format string, args ...any) {
	if r.Note != "" {
		r.Note += "; "
	}
	r.Note += fmt.Sprintf(format, args...)
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
