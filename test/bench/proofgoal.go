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
	all := slices.Clone(goals)
	for _, target := range []string{sluiceName, twoTiersName} {
		for _, g := range proofGoals {
			all = append(all, goal{g.work + ": " + target, "", quantity{g.values(target), false, g.unit}, g.most})
		}
		share := quantity{shares(target), false, ""}
		all = append(all, goal{"consistent reads, upstream share of a core: " + target, "", share, maxShare})
	}
	return all
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

// maxShare bounds the control plane's CPU over all cases of one size, as a share of a core: the
// default budget of a resource.
const maxShare = 0.05

// shares returns the control plane's CPU over all cases of each size, as a share of a core. A
// single case is too short for the budget, from which a burst may draw at once.
func shares(target string) func(*report) iter.Seq2[string, float64] {
	return func(r *report) iter.Seq2[string, float64] {
		type group struct {
			objects int
			churn   string
		}
		cpu, wall := map[group]float64{}, map[group]float64{}
		for _, l := range r.Proofs {
			if f := l.By[target]; f != nil {
				g := group{l.Objects, l.churn}
				cpu[g] += f.Upstream
				wall[g] += f.Wall
			}
		}
		return func(yield func(string, float64) bool) {
			for g, seconds := range wall {
				if !yield("share"+g.churn, cpu[g]/seconds) {
					return
				}
			}
		}
	}
}
