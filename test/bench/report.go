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
	Date      time.Time `json:"date"`
	CPUs      int       `json:"cpus"`
	Load      float64   `json:"loadAverageAtStart"`
	LoadAtEnd float64   `json:"loadAverageAtEnd"`
	Pods      int       `json:"pods"`
	Rounds    int       `json:"rounds"`
	Rows      []*row    `json:"rows"`
}

func newReport(o *options) *report {
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), Load: loadAverage(),
		Pods: o.pods, Rounds: o.rounds,
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
	if len(r.rows(syncTable)) == 0 { // which has the number of objects
		fmt.Fprintf(out, "%d pods, ", r.Pods)
	}
	fmt.Fprintf(out, "up to %d rounds, %d CPUs; load average %.1f before and %.1f after\n", r.Rounds, r.CPUs, r.Load, r.LoadAtEnd)
	for _, t := range tables {
		t.print(out, r.rows(t.name))
	}
	r.printGoals(out)
}
