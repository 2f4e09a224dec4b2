package main

import (
	"fmt"
	"time"
)

// proofLine is a line of the report.
type proofLine struct {
	Case    string                   `json:"case"`
	Objects int                      `json:"objects"`
	Readers int                      `json:"readers"`
	By      map[string]*proofFigures `json:"by"`
	Note    string                   `json:"note,omitempty"`

	churn  string          // name of the updates
	failed map[string]bool // by target
}

// proofFigures are the figures of one target.
type proofFigures struct {
	P50 float64 `json:"p50Seconds"` // of a read, all of its pages included
	P99 float64 `json:"p99Seconds"`
	// CPU is the control plane's CPU per read, and Own that of all Sluices.
	CPU   float64 `json:"upstreamCPUSeconds"`
	Own   float64 `json:"sluiceCPUSeconds"`
	Reads int     `json:"reads"`
	// Upstream is the control plane's CPU in all rounds, which took Wall.
	Upstream float64 `json:"allUpstreamCPUSeconds"`
	Wall     float64 `json:"allSeconds"`
	// Charged is the control plane's time that Sluice charged to the budget of its proofs, and Lent what
	// it spent beyond it instead of reads that would have cost more, both by its own estimate.
	Charged float64 `json:"chargedSeconds"`
	Lent    float64 `json:"lentSeconds"`
	// Source is where Sluice served the requests from, and Proofs what proved its state; empty for the
	// apiserver.
	Source string `json:"source,omitempty"`
	Proofs string `json:"proofs,omitempty"`

	walls           []time.Duration // of each read
	sources, proofs tally
}

func newProofLine(c proofCase) *proofLine {
	return &proofLine{
		Case: c.name(), Objects: c.objects, Readers: c.readers, churn: c.suffix(),
		By: map[string]*proofFigures{}, failed: map[string]bool{},
	}
}

// fail replaces the target's figures by a note.
func (l *proofLine) fail(target string, err error) {
	delete(l.By, target)
	l.failed[target] = true
	if l.Note != "" {
		l.Note += "; "
	}
	l.Note += fmt.Sprintf("%s failed: %v", target, err)
}

func (l *proofLine) add(target string, b *proofBatch) {
	f := l.By[target]
	if f == nil {
		f = &proofFigures{sources: tally{}, proofs: tally{}}
		l.By[target] = f
	}
	f.walls = append(f.walls, b.walls...)
	f.Upstream += b.upstream.Seconds()
	f.Wall += b.wall.Seconds()
	f.Own += b.own.Seconds()
	f.Charged += b.cost.seconds
	f.Lent += b.cost.lent
	f.sources.add(b.sources)
	f.proofs.add(b.proofs)
}

// enoughTime is the time per target after which no more rounds are needed: shorter cases have too
// few of the kernel's units of CPU time.
const enoughTime = time.Second

// enough reports whether each target that is measured has had enough reads and time.
func (l *proofLine) enough() bool {
	measured := 0
	for _, f := range l.By {
		switch {
		case f.walls == nil: // the apiserver is skipped
		case len(f.walls) < enough || f.Wall < enoughTime.Seconds():
			return false
		default:
			measured++
		}
	}
	return measured > 0
}

// summarize computes the figures from the rounds. It divides total CPU by all reads, because the
// kernel's unit of CPU time is much more than a short read.
func (l *proofLine) summarize() {
	for _, f := range l.By {
		if f.walls == nil {
			continue // skipped
		}
		f.Reads = len(f.walls)
		f.P50, f.P99 = percentile(f.walls, 50).Seconds(), percentile(f.walls, 99).Seconds()
		f.CPU, f.Own = f.Upstream/float64(f.Reads), f.Own/float64(f.Reads)
		if len(f.sources) > 0 {
			f.Source, f.Proofs = f.sources.String(), f.proofs.reasons()
		}
	}
}
