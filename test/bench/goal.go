package main

import (
	"fmt"
	"io"
	"regexp"
)

// goal is the most that a number of all rows of a table may be whose cases match.
type goal struct {
	work, table, cases string
	number
	most float64
	unit string
}

// number is a number of a row; false means that the row has none.
type number func(*report, *row) (float64, bool)

const (
	noMatch = "^configmaps: no label matches, consistent$"
	solo    = " x1( |$)"
	herd    = ` x\d{2,}( |$)`
)

// goals are set for 10,000 pods, and for the defaults of --scale. Those of consistent reads hold for all sizes of the
// cluster, and at each tier.
var goals = []goal{
	{"list JSON gzip, CPU over the apiserver's", listTable, "^list json gzip ", overApiserver(sluiceName, cpu), 1. / 50, "x"},
	{"list JSON identity, CPU over the apiserver's", listTable, "^list json identity ", overApiserver(sluiceName, cpu), 1. / 5, "x"},
	{"list Protobuf gzip, CPU over the apiserver's", listTable, "^list protobuf gzip ", overApiserver(sluiceName, cpu), 1. / 40, "x"},
	{"list Protobuf identity, CPU over the apiserver's", listTable, "^list protobuf identity ", overApiserver(sluiceName, cpu), 1. / 5, "x"},
	{"list Table gzip, CPU over the apiserver's", listTable, "^list table gzip ", overApiserver(sluiceName, cpu), 1. / 40, "x"},
	{"list Table identity, CPU over the apiserver's", listTable, "^list table identity ", overApiserver(sluiceName, cpu), 1. / 10, "x"},
	{"watch fan-out, CPU over the floor's", watchTable, "", over(sluiceName, floorName, cpu), 1.2, "x"},
	{"watch fan-out, p50 over the floor's", watchTable, "", over(sluiceName, floorName, p50), 1.5, "x"},
	{"resident memory at the end", idleTable, "^at the end$", sluices(rss, 1e6), 300, " MB"},

	{"list of ConfigMaps, selector matches nothing, consistent, p50", listTable, noMatch, sluices(p50, 1), 0.499, " s"},
	{"list of ConfigMaps, selector matches nothing, consistent, p99", listTable, noMatch, sluices(p99, 1), 0.648, " s"},
	{"ten lists of 1 GB at once, peak", listTable, " x10$", sluices(peak, 1e6), 1500, " MB"},
	{"resident memory, 10,000 pods", memoryTable, " pods$", sluices(rss, 1e6), 300, " MB"},
	{"resident memory over JSON, large custom resources", memoryTable, " reports$", sluices(overJSON, 1), 1.3, "x"},
	{"watches that do not read, p99 of the others", stalledTable, " the " + sluiceName + "$", over(attacked, quietly, p99), 1.2, "x"},

	{"consistent read, 1 reader, p50 over the apiserver's: " + sluiceName, proofTable, solo, overApiserver(sluiceName, p50), 1, "x"},
	{"the same: " + twoTiersName, proofTable, solo, overApiserver(twoTiersName, p50), 1, "x"},
	{"consistent read, 20 readers and more, upstream CPU over the apiserver's: " + sluiceName, proofTable, herd,
		overApiserver(sluiceName, upstreamCPU), 0.1, "x"},
	{"the same: " + twoTiersName, proofTable, herd, overApiserver(twoTiersName, upstreamCPU), 0.1, "x"},
	{"proofs of consistent reads, share of a core, charged", proofTable, "", chargedShare, maxShare, ""},
}

func cpu(f *figures) float64         { return f.CPU }
func upstreamCPU(f *figures) float64 { return f.Upstream }
func p50(f *figures) float64         { return f.P50 }
func p99(f *figures) float64         { return f.P99 }
func rss(f *figures) float64         { return float64(f.RSS) }
func peak(f *figures) float64        { return float64(f.Peak) }
func overJSON(f *figures) float64    { return float64(f.RSS) / f.Bytes }

// sluices is a figure of Sluice in a unit.
func sluices(of func(*figures) float64, unit float64) number {
	return func(_ *report, r *row) (float64, bool) {
		f := r.By[sluiceName]
		if f == nil {
			return 0, false
		}
		return of(f) / unit, true
	}
}

// over is a figure of a target or moment over that of another.
func over(target, other string, of func(*figures) float64) number {
	return func(_ *report, r *row) (float64, bool) {
		t, o := r.By[target], of(r.of(other))
		if t == nil || o == 0 {
			return 0, false
		}
		return of(t) / o, true
	}
}

func overApiserver(target string, of func(*figures) float64) number {
	return over(target, apiserverName, of)
}

// maxShare bounds what proofs cost the control plane over all cases, as a share of a core: the default budget of a
// resource. savedSeconds is what a Sluice saves of it while nothing is read, and may spend at once.
const (
	maxShare     = 0.05
	savedSeconds = 20 * maxShare
)

// chargedShare is the cost of proofs, estimated by Sluice, over all cases, as a share of a core. The budget refills during
// the cases of all targets, and two tiers share the budget of the lower one.
func chargedShare(r *report, _ *row) (float64, bool) {
	var spent, wall float64
	for _, row := range r.rows(proofTable) {
		for target, f := range row.By {
			wall += f.Wall
			if target != apiserverName {
				spent += f.Charged
			}
		}
	}
	return max(0, spent-savedSeconds) / wall, true
}

// worst returns the largest number of the rows of a report; false means that none has one.
func (g goal) worst(r *report) (worst float64, measured bool) {
	cases := regexp.MustCompile(g.cases)
	for _, row := range r.rows(g.table) {
		if n, ok := g.number(r, row); ok && cases.MatchString(row.Case) {
			worst, measured = max(worst, n), true
		}
	}
	return worst, measured
}

// printGoals writes the goals that were measured.
func (r *report) printGoals(out io.Writer) {
	var rows [][]string
	for _, g := range goals {
		if worst, measured := g.worst(r); measured {
			met := "yes"
			if worst > g.most {
				met = "NO"
			}
			rows = append(rows, []string{g.work, fmt.Sprintf("%.4g%s", g.most, g.unit), fmt.Sprintf("%.4g%s", worst, g.unit), met})
		}
	}
	writeTable(out, "goals for the default sizes|at most|worst case|met", rows)
}
