package main

import (
	"errors"
	"math"
	"testing"
)

func TestGoalsOfProofsDependOnTheReaders(t *testing.T) {
	line := func(readers int, p50, cpu float64) *row {
		return &row{Clients: readers, failed: map[string]bool{}, By: map[string]*figures{
			apiserverName: {P50: 1, Upstream: 1}, sluiceName: {P50: p50, Upstream: cpu},
		}}
	}
	failed := line(1, 1, 1)
	failed.fail(sluiceName, errors.New("no"))
	for _, tc := range []struct {
		name string
		line *row
		want string
	}{
		{"one reader is as fast as the apiserver", line(1, 1, 9), ""},
		{"one reader is slower", line(1, 1.01, 0), "sluice"},
		{"a herd may be slow", line(20, 9, 0.1), ""},
		{"a herd costs too much", line(200, 0, 0.11), "sluice"},
		{"no goal for a few readers", line(2, 9, 9), ""},
		{"a failure misses every goal", failed, "sluice failed"},
	} {
		if got := tc.line.missed(); got != tc.want {
			t.Errorf("%s: missed by %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestShareOfProofsCoversAllCasesOfASize(t *testing.T) {
	line := func(objects int, charged ...float64) *row {
		r := &row{Table: proofTable, Objects: objects, By: map[string]*figures{apiserverName: {Charged: 100, Wall: 10}}}
		for i, seconds := range charged {
			r.By[[]string{sluiceName, twoTiersName}[i]] = &figures{Charged: seconds, Wall: 10}
		}
		return r
	}
	for _, c := range []struct {
		rows []*row
		want float64
	}{
		{[]*row{line(100, 0.5, 0.5)}, 0}, // saved before
		{[]*row{line(100, 1, 1), line(100, 1, 1)}, 0.05},
		{[]*row{line(100, 4)}, 0.15},
		{[]*row{line(10, 9), line(100, 4)}, 0.15},
	} {
		got, counts := chargedShare(&report{Rows: c.rows}, c.rows[len(c.rows)-1])
		if first := len(c.rows) == 1 || c.rows[0].Objects != 100; math.Abs(got-c.want) > 1e-9 || counts != first {
			t.Errorf("share is %v, want %v; it counts: %v", got, c.want, counts)
		}
	}
}
