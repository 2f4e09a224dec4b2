package main

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
)

// goal is a number that all cases whose names match must reach.
type goal struct {
	work  string
	cases string // regular expression of the names
	quantity
	want float64
}

// goals are set for 10,000 pods.
var goals = []goal{
	{"list JSON gzip", "^list json gzip ", lessCPU, 50},
	{"list JSON identity", "^list json identity ", lessCPU, 5},
	{"list Protobuf gzip", "^list protobuf gzip ", lessCPU, 40},
	{"list Protobuf identity", "^list protobuf identity ", lessCPU, 5},
	{"list CBOR gzip", "^list cbor gzip ", lessCPU, 100},
	{"list CBOR identity", "^list cbor identity ", lessCPU, 8},
	{"list Table gzip", "^list table gzip ", lessCPU, 40},
	{"list Table identity", "^list table identity ", lessCPU, 10},
	{"list YAML", "^list yaml ", lessCPU, 20},
	{"list YAML, extra memory", "^list yaml ", extraMemory, 64},
	{"watch fan-out, CPU over the floor's", "^watch ", overFloor, 1.2},
	{"watch fan-out, p50 over the floor's", "^watch ", slowerThanFloor, 1.5},
	{"resident memory at the end", "^end$", resident, 300},
	{"consistent list p50", "^consistent list", latencyP50, 1},
	{"consistent list p99", "^consistent list", latencyP99, 2.5},
	{"passed get, p50 over the apiserver's", "^get", addedP50, 0.5},
}

// quantity is one kind of number in a report.
type quantity struct {
	// of returns the names of cases and their numbers.
	of    func(*report) iter.Seq2[string, float64]
	least bool // the goal is a minimum, not a maximum
	unit  string
}

var (
	lessCPU     = quantity{cpuRatios, true, "x less CPU"}
	extraMemory = quantity{extras, false, " MB"}
	overFloor   = quantity{floorRatios, false, "x"}

	slowerThanFloor = quantity{floorDelays, false, "x"}
	resident        = quantity{atEnd, false, " MB"}
	latencyP50      = quantity{p50s, false, " s"}
	latencyP99      = quantity{p99s, false, " s"}
	addedP50        = quantity{addedP50s, false, " ms"}
)

// outcome compares the report with a goal.
type outcome struct {
	Work  string `json:"work"`
	Want  string `json:"want"`
	Quiet string `json:"quiet"` // worst case without updates
	Busy  string `json:"busy"`  // worst case with updates
	Met   string `json:"met"`
}

// outcomes compares the report with all goals.
func (r *report) outcomes() []*outcome {
	var all []*outcome
	for _, g := range allGoals() {
		all = append(all, g.evaluate(r))
	}
	return all
}

func (g goal) evaluate(r *report) *outcome {
	o := &outcome{Work: g.work, Want: g.show(g.want), Quiet: none, Busy: none, Met: "not measured"}
	cases := regexp.MustCompile(g.cases)
	quiet, busy := g.want, g.want // the worst so far
	met := true
	for name, value := range g.of(r) {
		if !cases.MatchString(name) {
			continue
		}
		worst, text := &quiet, &o.Quiet
		if strings.Contains(name, "+") {
			worst, text = &busy, &o.Busy
		}
		if *text == none || g.better(*worst, value) {
			*worst, *text = value, g.show(value)
		}
		met = met && !g.better(g.want, value)
	}
	switch {
	case o.Quiet == none && o.Busy == none:
	case met:
		o.Met = "yes"
	default:
		o.Met = "NO"
	}
	return o
}

// better reports whether a is a better number than b.
func (q quantity) better(a, b float64) bool {
	if q.least {
		return a > b
	}
	return a < b
}

func (q quantity) show(f float64) string { return fmt.Sprintf("%.4g%s", f, q.unit) }

// cpuRatios are the apiserver's CPU over Sluice's.
func cpuRatios(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.Lists {
			a, s := l.By[apiserverName], l.By[sluiceName]
			if a != nil && s.CPU > 0 && !yield(l.Case, a.CPU/s.CPU) {
				return
			}
		}
	}
}

// extras are the growth of Sluice's memory during a case, in megabytes.
func extras(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.Lists {
			if !yield(l.Case, float64(l.Extra)/1e6) {
				return
			}
		}
	}
}

// floorRatios are Sluice's CPU over the floor's.
func floorRatios(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.FanOuts {
			s, f := l.By[sluiceName], l.By[floorName]
			if f.CPU > 0 && !yield(l.Case, s.CPU/f.CPU) {
				return
			}
		}
	}
}

// floorDelays are the median delays of Sluice's events over those of the floor's.
func floorDelays(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.FanOuts {
			s, f := l.By[sluiceName], l.By[floorName]
			if f.P50 > 0 && !yield(l.Case, s.P50/f.P50) {
				return
			}
		}
	}
}

// atEnd is Sluice's memory after all cases, in megabytes.
func atEnd(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		if r.End.RSS != nil {
			yield("end", float64(r.End.RSS[sluiceName])/1e6)
		}
	}
}

func p50s(r *report) iter.Seq2[string, float64] {
	return latencies(r, func(l *latencyLine) float64 { return l.By[sluiceName].P50 })
}

func p99s(r *report) iter.Seq2[string, float64] {
	return latencies(r, func(l *latencyLine) float64 { return l.By[sluiceName].P99 })
}

// addedP50s are Sluice's median latency minus the apiserver's, in milliseconds.
func addedP50s(r *report) iter.Seq2[string, float64] {
	return latencies(r, func(l *latencyLine) float64 { return 1e3 * (l.By[sluiceName].P50 - l.By[apiserverName].P50) })
}

func latencies(r *report, of func(*latencyLine) float64) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.Latencies {
			if !yield(l.Case, of(l)) {
				return
			}
		}
	}
}
