package main

import "iter"

// scaleGoals are set for the defaults of --scale.
var scaleGoals = []goal{
	{"list of ConfigMaps, selector matches nothing, consistent, p50", "^configmaps: no label matches, consistent$", readP50, 0.499},
	{"list of ConfigMaps, selector matches nothing, consistent, p99", "^configmaps: no label matches, consistent$", readP99, 0.648},
	{"selections, CPU per byte over a namespace's: JSON", "^pods: (app|node|metadata.namespace|pending), JSON$", overNamespace("pods: namespace, JSON"), 2},
	{"selections, CPU per byte over a namespace's: Tables", "^pods: app, Table$", overNamespace("pods: namespace, Table"), 2},
	{"ten lists of 1 GB at once, peak", "", quantity{concurrentPeaks, false, " MB"}, 1500},
	{"resident memory, 10,000 pods", "^pods", residentAfter, 300},
	{"resident memory over JSON, large custom resources", "^reports", overJSON, 1.3},
	{"watches that do not read, p99 of the others", "", quantity{movedByStalled, false, "x"}, 1.2},
}

var (
	readP50       = quantity{scaleReadsOf(func(f *scaleReadFigures) float64 { return f.P50 }), false, " s"}
	readP99       = quantity{scaleReadsOf(func(f *scaleReadFigures) float64 { return f.P99 }), false, " s"}
	residentAfter = quantity{memoryOfSteps(func(l *memoryLine) float64 { return float64(l.Resident) / 1e6 }), false, " MB"}
	overJSON      = quantity{memoryOfSteps(func(l *memoryLine) float64 { return float64(l.Resident) / float64(l.JSON) }), false, "x"}
)

// scaleReadsOf are figures of Sluice's reads.
func scaleReadsOf(of func(*scaleReadFigures) float64) func(*report) iter.Seq2[string, float64] {
	return func(r *report) iter.Seq2[string, float64] {
		return func(yield func(string, float64) bool) {
			for _, l := range r.Scale.Reads {
				if !yield(l.Case, of(l.By[sluiceName])) {
					return
				}
			}
		}
	}
}

// overNamespace divides Sluice's CPU per byte of a response by its CPU per byte of the response to another
// read: what a selection costs besides writing the response.
func overNamespace(other string) quantity {
	return quantity{func(r *report) iter.Seq2[string, float64] {
		var base float64
		for _, l := range r.Scale.Reads {
			if l.Case == other {
				base = l.By[sluiceName].perByte()
			}
		}
		if base == 0 {
			return func(func(string, float64) bool) {}
		}
		return scaleReadsOf(func(f *scaleReadFigures) float64 { return f.perByte() / base })(r)
	}, false, "x"}
}

func (f *scaleReadFigures) perByte() float64 { return f.CPU / float64(f.Bytes) }

// concurrentPeaks are Sluice's memory during lists at once, in megabytes.
func concurrentPeaks(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.Scale.Concurrent {
			if l.Target == sluiceName && !yield(l.Format, float64(l.Peak)/1e6) {
				return
			}
		}
	}
}

// memoryOfSteps are figures of Sluice's memory.
func memoryOfSteps(of func(*memoryLine) float64) func(*report) iter.Seq2[string, float64] {
	return func(r *report) iter.Seq2[string, float64] {
		return func(yield func(string, float64) bool) {
			for _, l := range r.Scale.Memory {
				if !yield(l.Resource, of(l)) {
					return
				}
			}
		}
	}
}

// movedByStalled is how much longer delays are at Sluice while some watches do not read.
func movedByStalled(r *report) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, l := range r.Scale.Watches {
			if l.Target == sluiceName && !yield("watches", l.moved()) {
				return
			}
		}
	}
}
