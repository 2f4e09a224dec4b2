package main

import (
	"iter"
	"slices"
	"strings"
)

// proofGoal bounds a number of each line at each tier.
type proofGoal struct {
	work string
	unit string
	most float64
	// of returns the number of a target; false means that a figure is missing or the goal is not
	// about this number of readers.
	of func(l *proofLine, target string) (float64, bool)
}

// herd is the number of readers from which the goal of their upstream CPU holds.
const herd = 20

// proofGoals hold for all sizes.
var proofGoals = []proofGoal{
	{"consistent read, 1 reader, p50 over the apiserver's", "x", 1, (*proofLine).p50Ratio},
	{"consistent read, 20 readers and more, upstream CPU over the apiserver's", "x", 0.1, (*proofLine).cpuRatio},
}

// p50Ratio is the median latency of a single reader over the apiserver's.
func (l *proofLine) p50Ratio(target string) (float64, bool) {
	a, t := l.By[apiserverName], l.By[target]
	if l.Readers != 1 || a == nil || t == nil || a.P50 == 0 {
		return 0, false
	}
	return t.P50 / a.P50, true
}

// cpuRatio is the control plane's CPU per read over the CPU per read without Sluice.
func (l *proofLine) cpuRatio(target string) (float64, bool) {
	a, t := l.By[apiserverName], l.By[target]
	if l.Readers < herd || a == nil || t == nil || a.CPU == 0 {
		return 0, false
	}
	return t.CPU / a.CPU, true
}

// missed names the goals that the line does not reach.
func (l *proofLine) missed() string {
	var missed []string
	for _, target := range []string{sluiceName, twoTiersName} {
		if l.failed[target] {
			missed = append(missed, target+" failed")
		}
		for _, g := range proofGoals {
			if v, ok := g.of(l, target); ok && v > g.most {
				missed = append(missed, target)
			}
		}
	}
	return strings.Join(missed, ", ")
}

// allGoals returns the goals of all sections.
func allGoals() []goal {
	all := slices.Concat(goals, scaleGoals)
	for _, target := range []string{sluiceName, twoTiersName} {
		for _, g := range proofGoals {
			all = append(all, goal{g.work + ": " + target, "", quantity{g.values(target), false, g.unit}, g.most})
		}
	}
	charged := quantity{shares(func(f *proofFigures) float64 { return f.Charged }), false, ""}
	return append(all, goal{"proofs of consistent reads, share of a core, charged", "", charged, maxShare})
}

func (g proofGoal) values(target string) func(*report) iter.Seq2[string, float64] {
	return func(r *report) iter.Seq2[string, float64] {
		return func(yield func(string, float64) bool) {
			for _, l := range r.Proofs {
				if v, ok := g.of(l, target); ok && !yield(l.Case, v) {
					return
				}
			}
		}
	}
}

// maxShare bounds what proofs cost the control plane over all cases of one size, as a share of a core:
// the default budget of a resource. savedSeconds is what a Sluice saves of it while nothing is read,
// and may spend at once.
const (
	maxShare     = 0.05
	savedSeconds = 20 * maxShare
)

// shares returns a cost of proofs, estimated by Sluice, over all cases of each size, as a share of
// a core. The budget refills during the cases of all targets, and two tiers
// share the budget of the lower one.
func shares(cost func(*proofFigures) float64) func(*report) iter.Seq2[string, float64] {
	return func(r *report) iter.Seq2[string, float64] {
		spent, wall := map[int]float64{}, map[int]float64{}
		for _, l := range r.Proofs {
			for target, f := range l.By {
				wall[l.Objects] += f.Wall
				if target != apiserverName {
					spent[l.Objects] += cost(f)
				}
			}
		}
		return func(yield func(string, float64) bool) {
			for objects, seconds := range spent {
				if !yield("share", max(0, seconds-savedSeconds)/wall[objects]) {
					return
				}
			}
		}
	}
}
