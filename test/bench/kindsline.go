package main

import (
	"fmt"
	"io"

	"sluice/test/abuse"
)

// kindsLine is a line of the report: a controller that watches every kind, at one target.
type kindsLine struct {
	Target  string  `json:"target"`
	Kinds   int     `json:"kinds"`
	Synced  int     `json:"synced"`
	Seconds float64 `json:"seconds"` // until all informers have synced
	// UpstreamCPU is what the apiserver uses meanwhile.
	UpstreamCPU float64 `json:"apiserverCPUSeconds"`
	Peak        int64   `json:"peakRSSBytes"`
	// Served and Back are how the watches are served, from when all informers have synced, and after a restart; nil if
	// the target is no Sluice.
	Served *servedFigures `json:"served"`
	Back   *servedFigures `json:"back"`
	// Without, Watched and Unread are the idle servers before the controller came, with it, and, of a Sluice, after
	// it has gone, with the stores that nobody reads any more.
	Without idle `json:"without"`
	Watched idle `json:"watched"`
	Unread  idle `json:"unread"`
}

// servedFigures say how a Sluice serves the watches of the kinds.
type servedFigures struct {
	Watches     int         `json:"watches"` // that are served from the cache
	Seconds     float64     `json:"seconds"`
	Passed      abuse.Tally `json:"passed"` // that pass, by the reason
	Stores      int64       `json:"storesBytes"`
	StoresLimit int64       `json:"storesLimitBytes"`
	Upstream    int         `json:"upstreamWatches"`
}

func (f *servedFigures) cells() []string {
	if f == nil {
		return []string{none, none, none, none}
	}
	passed := f.Passed.String()
	if passed == "" {
		passed = none
	}
	return []string{fmt.Sprintf("%d in %.1f s", f.Watches, f.Seconds), passed, fmt.Sprint(f.Upstream), megabytes(f.Stores) + " of " + megabytes(f.StoresLimit)}
}

func (r *report) printKinds(out io.Writer) {
	if len(r.Kinds) == 0 {
		return
	}
	t := newTable(out, "a controller of", "", "synced", "apiserver CPU s", "then served", "passed", "upstream watches", "stores MB", "RSS MB", "peak",
		"back after a restart", "passed", "upstream watches", "stores MB", "CPU % idle", "apiserver's", "and before", "without readers", "apiserver's")
	percent := func(i idle, of string) string {
		if cpu, measured := i.CPU[of]; measured {
			return fmt.Sprintf("%.1f", 100*cpu)
		}
		return none
	}
	for _, l := range r.Kinds {
		cells := []string{fmt.Sprintf("%d kinds", l.Kinds), l.Target, fmt.Sprintf("%d in %.1f s", l.Synced, l.Seconds), fmt.Sprintf("%.1f", l.UpstreamCPU)}
		cells = append(cells, l.Served.cells()...)
		cells = append(cells, megabytes(l.Watched.RSS[l.Target]), megabytes(l.Peak))
		cells = append(cells, l.Back.cells()...)
		cells = append(cells, percent(l.Watched, l.Target), percent(l.Watched, apiserverName), percent(l.Without, apiserverName),
			percent(l.Unread, l.Target), percent(l.Unread, apiserverName))
		t.row(cells...)
	}
	t.flush()
}
