package main

import (
	"io"
	"time"
)

// programLine is a line of the report.
type programLine struct {
	Case   string  `json:"case"`
	Coding string  `json:"coding"`     // of the response
	CPU    float64 `json:"cpuSeconds"` // of the program per event, decoding included
	P50    float64 `json:"p50Seconds"` // from acknowledgement until the program has printed the event
	P99    float64 `json:"p99Seconds"`
}

// newProgramLine returns the line of a program that has used cpu since the warm-up.
func newProgramLine(c programCase, p *runningProgram, cpu time.Duration, acknowledged []time.Time) *programLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	var delays []time.Duration
	for i, at := range acknowledged {
		delays = append(delays, p.at[programWarmUp+i].Sub(at))
	}
	return &programLine{
		Case: c.name(), Coding: p.coding, CPU: cpu.Seconds() / float64(len(acknowledged)),
		P50: percentile(delays, 50).Seconds(), P99: percentile(delays, 99).Seconds(),
	}
}

func (r *report) printPrograms(out io.Writer) {
	if len(r.Programs) == 0 {
		return
	}
	t := newTable(out, "one watch by a program", "own CPU", "delay", "")
	t.row("", "us/event", "p50/p99 ms", "as")
	for _, l := range r.Programs {
		t.row(l.Case, micros(l.CPU), millis(l.P50)+"/"+millis(l.P99), l.Coding)
	}
	t.flush()
}
