package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// report contains all measurements; its JSON contains no ratios.
type report struct {
	Date      time.Time  `json:"date"`
	CPUs      int        `json:"cpus"`
	Load      float64    `json:"loadAverageAtStart"`
	LoadAtEnd float64    `json:"loadAverageAtEnd"`
	Pods      int        `json:"pods"`
	Rounds    int        `json:"rounds"`
	Rate      int        `json:"updatesPerSecond"` // in fan-outs
	Rows      []*row     `json:"rows"`
	Goals     []*outcome `json:"goals"`
}

func newReport(o *options) *report {
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), Load: loadAverage(),
		Pods: o.pods, Rounds: o.rounds, Rate: o.rate,
	}
}

// loadReport reads the report of an earlier run.
func loadReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// save writes the report as JSON; an empty path means no file.
func (r *report) save(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r *report) add(rows ...*row) { r.Rows = append(r.Rows, rows...) }

// rows returns the rows of a table.
func (r *report) rows(table string) (all []*row) {
	for _, row := range r.Rows {
		if row.Table == table {
			all = append(all, row)
		}
	}
	return all
}

// print writes the report as aligned text.
func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s%d CPUs; load average %.1f before and %.1f after\n", r.sizes(), r.CPUs, r.Load, r.LoadAtEnd)
	for _, t := range tables {
		t.print(out, r.rows(t.name))
	}
	r.printGoals(out)
}

// sizes returns the number of pods, unless a table has the number of objects, and the number of
// rounds, if there are any.
func (r *report) sizes() (text string) {
	syncs := len(r.rows(syncTable))
	if syncs == 0 {
		text = fmt.Sprintf("%d pods, ", r.Pods)
	}
	if syncs+len(r.rows(stalledTable)) == 0 || len(r.rows(atOnceTable)) > 0 {
		text += fmt.Sprintf("up to %d rounds, ", r.Rounds)
	}
	return text
}

func (r *report) printGoals(out io.Writer) {
	a := newAligned(out, "goals for the default sizes||worst case||\n|goal|without updates|with updates|met")
	for _, g := range r.Goals {
		if g.Quiet == none && g.Busy == none {
			continue // not measured
		}
		a.row(g.Work, g.Want, g.Quiet, g.Busy, g.Met)
	}
	a.flush()
}
