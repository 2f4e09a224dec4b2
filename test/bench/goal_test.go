package main

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoalIsMetByTheWorstCase(t *testing.T) {
	line := func(name string, apiserver, sluice float64) *row {
		return &row{Table: listTable, Case: name, By: map[string]*figures{apiserverName: {CPU: apiserver}, sluiceName: {CPU: sluice, Extra: 70e6}}}
	}
	skipped := line("list json gzip x20", 0, 1)
	delete(skipped.By, apiserverName)
	for _, tc := range []struct {
		name  string
		lists []*row
		goal  goal
		want  outcome
	}{
		{"nothing measured", nil, goal{"w", listTable, "^list json ", lessCPU, 5}, outcome{Quiet: "-", Busy: "-", Met: "not measured"}},
		{
			"the worst case of each", []*row{line("list json gzip x1", 9, 1), line("list json gzip x20", 7, 1), line("list json gzip x1 +50/s", 6, 1)},
			goal{"w", listTable, "^list json ", lessCPU, 5}, outcome{Quiet: "7x less CPU", Busy: "6x less CPU", Met: "yes"},
		},
		{
			"not met with updates", []*row{line("list json gzip x1", 9, 1), line("list json gzip x1 +50/s", 4, 1)},
			goal{"w", listTable, "^list json ", lessCPU, 5}, outcome{Quiet: "9x less CPU", Busy: "4x less CPU", Met: "NO"},
		},
		{
			"other formats, and a line without the apiserver", []*row{line("list cbor gzip x1", 1, 1), skipped},
			goal{"w", listTable, "^list json ", lessCPU, 5}, outcome{Quiet: "-", Busy: "-", Met: "not measured"},
		},
		{"at most", []*row{line("list yaml gzip x1", 1, 1)}, goal{"w", listTable, "^list yaml ", sluices(extra, 1e6, " MB"), 64}, outcome{Quiet: "70 MB", Busy: "-", Met: "NO"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := *tc.goal.evaluate(&report{Rows: tc.lists})
			got.Work, got.Want = "", ""
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

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
