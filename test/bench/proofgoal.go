package main

import (
	"slices"
	"strings"
)

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
