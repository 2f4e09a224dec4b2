package main

import (
	"fmt"
	"io"

	"sluice/test/abuse"
)

// crowdLine is a line of the report: a crowd of agents at one target.
type crowdLine struct {
	Target string `json:"target"`
	Agents int    `json:"agents"`
	// PerConnection is by how much the resident memory has grown for each agent, and RSS what it is then.
	PerConnection int64         `json:"perConnectionBytes"`
	RSS           int64         `json:"rssBytes"`
	Joined        *crowdFigures `json:"joined"`
	Back          *crowdFigures `json:"back"` // after a restart; nil if there was none
	// Quiet, With and Returning are another user's lists before the crowd came, with it, and after the restart.
	Quiet     *victimFigures `json:"quiet"`
	With      *victimFigures `json:"with"`
	Returning *victimFigures `json:"returning"`
}

// crowdFigures are the figures of agents that come.
type crowdFigures struct {
	Watching int     `json:"watching"`
	Seconds  float64 `json:"seconds"` // until all watch
	// UpstreamCPU is what the apiserver uses meanwhile.
	UpstreamCPU float64     `json:"apiserverCPUSeconds"`
	Peak        int64       `json:"peakRSSBytes"`
	Refused     abuse.Tally `json:"refused"`
}

func (f *crowdFigures) cells() []string {
	if f == nil {
		return []string{none, none, none, none}
	}
	refused := f.Refused.String()
	if refused == "" {
		refused = none
	}
	return []string{fmt.Sprintf("%d in %.1f s", f.Watching, f.Seconds), figure("%.1f", f.UpstreamCPU), megabytes(f.Peak), refused}
}

func (r *report) printCrowds(out io.Writer) {
	if len(r.Crowds) == 0 {
		return
	}
	t := newTable(out, "crowd", "", "RSS", "", "joined", "apiserver CPU s", "peak MB", "refused", "back after a restart", "apiserver CPU s", "peak MB", "refused",
		"another user's p50/p99 ms", "with the crowd", "failed", "after the restart", "failed")
	for _, l := range r.Crowds {
		cells := []string{l.Target, fmt.Sprintf("%d agents", l.Agents), fmt.Sprintf("%.1f KB each", float64(l.PerConnection)/1e3), megabytes(l.RSS) + " MB"}
		cells = append(cells, append(l.Joined.cells(), l.Back.cells()...)...)
		cells = append(cells, l.Quiet.latency(), l.With.latency(), l.With.failed())
		if l.Returning != nil {
			cells = append(cells, l.Returning.latency(), l.Returning.failed())
		}
		t.row(cells...)
	}
	t.flush()
}
