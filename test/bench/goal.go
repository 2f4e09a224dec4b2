package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// goal is a number that all rows of a table must reach whose cases match.
type goal struct {
	work  string
	table string
	cases string // regular expression
	quantity
	want float64
}

// quantity is one kind of number.
type quantity struct {
	// of returns the number of a row; false means that the row has none.
	of    func(*report, *row) (float64, bool)
	least bool // the goal is a minimum, not a maximum
	unit  string
}

const (
	noMatch    = "^configmaps: no label matches, consistent$"
	selections = "^pods: (app|node|metadata.namespace|pending), JSON$"
)

// goals are set for 10,000 pods, and for the defaults of --scale.
var goals = []goal{
	{"list JSON gzip", listTable, "^list json gzip ", lessCPU, 50},
	{"list JSON identity", listTable, "^list json identity ", lessCPU, 5},
	{"list Protobuf gzip", listTable, "^list protobuf gzip ", lessCPU, 40},
	{"list Protobuf identity", listTable, "^list protobuf identity ", lessCPU, 5},
	{"list CBOR gzip", listTable, "^list cbor gzip ", lessCPU, 100},
	{"list CBOR identity", listTable, "^list cbor identity ", lessCPU, 8},
	{"list Table gzip", listTable, "^list table gzip ", lessCPU, 40},
	{"list Table identity", listTable, "^list table identity ", lessCPU, 10},
	{"list YAML", listTable, "^list yaml ", lessCPU, 20},
	{"list YAML, extra memory", listTable, "^list yaml ", sluices(extra, 1e6, " MB"), 64},
	{"watch fan-out, CPU over the floor's", watchTable, "", overFloor(cpuSeconds), 1.2},
	{"watch fan-out, p50 over the floor's", watchTable, "", overFloor(p50), 1.5},
	{"resident memory at the end", idleTable, "^at the end$", sluices(rss, 1e6, " MB"), 300},
	{"consistent list p50", latencyTable, "^consistent list", sluices(p50, 1, " s"), 1},
	{"consistent list p99", latencyTable, "^consistent list", sluices(p99, 1, " s"), 2.5},
	{"passed get, p50 over the apiserver's", latencyTable, "^get", addedP50, 0.5},

	{"list of ConfigMaps, selector matches nothing, consistent, p50", readTable, noMatch, sluices(p50, 1, " s"), 0.499},
	{"list of ConfigMaps, selector matches nothing, consistent, p99", readTable, noMatch, sluices(p99, 1, " s"), 0.648},
	{"selections, CPU per byte over a namespace's: JSON", readTable, selections, overRead("pods: namespace, JSON"), 2},
	{"selections, CPU per byte over a namespace's: Tables", readTable, "^pods: app, Table$", overRead("pods: namespace, Table"), 2},
	{"ten lists of 1 GB at once, peak", atOnceTable, "", sluices(peak, 1e6, " MB"), 1500},
	{"resident memory, 10,000 pods", memoryTable, " pods$", sluices(rss, 1e6, " MB"), 300},
	{"resident memory over JSON, large custom resources", memoryTable, " reports$", overJSON, 1.3},
	{"watches that do not read, p99 of the others", stalledTable, " the " + sluiceName + "$", movedP99, 1.2},

	{proofP50 + sluiceName, proofTable, "", soloP50(sluiceName), maxSoloP50},
	{proofCPU + sluiceName, proofTable, "", herdCPU(sluiceName), maxHerdCPU},
	{proofP50 + twoTiersName, proofTable, "", soloP50(twoTiersName), maxSoloP50},
	{proofCPU + twoTiersName, proofTable, "", herdCPU(twoTiersName), maxHerdCPU},
	{"proofs of consistent reads, share of a core, charged", proofTable, "", quantity{chargedShare, false, ""}, maxShare},
}

func cpuSeconds(f *figures) float64 { return f.CPU }
func p50(f *figures) float64        { return f.P50 }
func p99(f *figures) float64        { return f.P99 }
func rss(f *figures) float64        { return float64(f.RSS) }
func peak(f *figures) float64       { return float64(f.Peak) }
func extra(f *figures) float64      { return float64(f.Extra) }

// sluices is a figure of Sluice in a unit.
func sluices(of func(*figures) float64, unit float64, name string) quantity {
	return quantity{func(_ *report, r *row) (float64, bool) {
		f := r.By[sluiceName]
		if f == nil {
			return 0, false
		}
		return of(f) / unit, true
	}, false, name}
}

// lessCPU is the apiserver's CPU over Sluice's.
var lessCPU = quantity{func(_ *report, r *row) (float64, bool) {
	a, s := r.By[apiserverName], r.of(sluiceName)
	if a == nil || s.CPU == 0 {
		return 0, false
	}
	return a.CPU / s.CPU, true
}, true, "x less CPU"}

// overFloor is a figure of Sluice over the floor's.
func overFloor(of func(*figures) float64) quantity {
	return quantity{func(_ *report, r *row) (float64, bool) {
		floor := of(r.of(floorName))
		return of(r.of(sluiceName)) / floor, floor > 0
	}, false, "x"}
}

// addedP50 is Sluice's median latency minus the apiserver's.
var addedP50 = quantity{func(_ *report, r *row) (float64, bool) {
	return 1e3 * (r.of(sluiceName).P50 - r.of(apiserverName).P50), true
}, false, " ms"}

// overRead divides Sluice's CPU per byte of a response by its CPU per byte of the response to another
// read: what a selection costs besides writing the response.
func overRead(other string) quantity {
	perByte := func(f *figures) float64 { return f.CPU / f.Bytes }
	return quantity{func(rep *report, r *row) (float64, bool) {
		for _, base := range rep.rows(readTable) {
			if base.Case == other && base.of(sluiceName).CPU > 0 {
				return perByte(r.of(sluiceName)) / perByte(base.of(sluiceName)), true
			}
		}
		return 0, false
	}, false, "x"}
}

var overJSON = quantity{func(_ *report, r *row) (float64, bool) {
	f := r.of(r.Target)
	return float64(f.RSS) / f.Bytes, true
}, false, "x"}

// movedP99 is how much longer delays are while some watches do not read.
var movedP99 = quantity{func(_ *report, r *row) (float64, bool) {
	return r.of(attacked).P99 / r.of(quietly).P99, true
}, false, "x"}

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
	for _, g := range goals {
		all = append(all, g.evaluate(r))
	}
	return all
}

func (g goal) evaluate(r *report) *outcome {
	o := &outcome{Work: g.work, Want: g.show(g.want), Quiet: none, Busy: none, Met: "not measured"}
	cases := regexp.MustCompile(g.cases)
	var quiet, busy float64 // the worst so far
	met := true
	for _, row := range r.rows(g.table) {
		value, ok := g.of(r, row)
		if !ok || !cases.MatchString(row.Case) {
			continue
		}
		worst, text := &quiet, &o.Quiet
		if strings.Contains(row.Case, "+") {
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

// The goals of consistent reads hold for all sizes of the cluster, and at each tier.
const (
	proofP50   = "consistent read, 1 reader, p50 over the apiserver's: "
	proofCPU   = "consistent read, 20 readers and more, upstream CPU over the apiserver's: "
	maxSoloP50 = 1
	maxHerdCPU = 0.1
	// herd is the number of readers from which the goal of their upstream CPU holds.
	herd = 20
)

// soloP50 is the median latency of a single reader over the apiserver's.
func soloP50(target string) quantity {
	return overApiserver(target, p50, func(readers int) bool { return readers == 1 })
}

// herdCPU is the control plane's CPU per read over the CPU per read without Sluice.
func herdCPU(target string) quantity {
	return overApiserver(target, func(f *figures) float64 { return f.Upstream }, func(readers int) bool { return readers >= herd })
}

// overApiserver is a figure of a target over the apiserver's, in cases of some numbers of readers.
func overApiserver(target string, of func(*figures) float64, counts func(readers int) bool) quantity {
	return quantity{func(_ *report, r *row) (float64, bool) {
		a, t := of(r.of(apiserverName)), r.By[target]
		if !counts(r.Clients) || t == nil || a == 0 {
			return 0, false
		}
		return of(t) / a, true
	}, false, "x"}
}

// missed names the tiers at which a consistent read does not reach its goals.
func (r *row) missed() string {
	var missed []string
	for _, target := range []string{sluiceName, twoTiersName} {
		if r.failed[target] {
			missed = append(missed, target+" failed")
		}
		solo, isSolo := soloP50(target).of(nil, r)
		cpu, isHerd := herdCPU(target).of(nil, r)
		if isSolo && solo > maxSoloP50 || isHerd && cpu > maxHerdCPU {
			missed = append(missed, target)
		}
	}
	return strings.Join(missed, ", ")
}

// maxShare bounds what proofs cost the control plane over all cases of one size, as a share of a core:
// the default budget of a resource. savedSeconds is what a Sluice saves of it while nothing is read,
// and may spend at once.
const (
	maxShare     = 0.05
	savedSeconds = 20 * maxShare
)

// chargedShare is the cost of proofs, estimated by Sluice, over all cases of the size of a row, as a share of
// a core. The budget refills during the cases of all targets, and two tiers share the budget of the lower one.
func chargedShare(r *report, of *row) (float64, bool) {
	var spent, wall float64
	all := r.rows(proofTable)
	for _, row := range all {
		if row.Objects != of.Objects {
			continue
		}
		for target, f := range row.By {
			wall += f.Wall
			if target != apiserverName {
				spent += f.Charged
			}
		}
	}
	// The case does not matter: the share counts as one without updates, at the first row of the size.
	first := slices.IndexFunc(all, func(row *row) bool { return row.Objects == of.Objects })
	return max(0, spent-savedSeconds) / wall, all[first] == of
}
