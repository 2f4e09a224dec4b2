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
func loadReport(path string) *report {
	var r report
	check(json.Unmarshal(must(os.ReadFile(path)), &r))
	return &r
}

// save writes the report as JSON.
func (r *report) save(path string) {
	check(os.WriteFile(path, append(must(json.MarshalIndent(r, "", "  ")), '\n'), 0o644))
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
