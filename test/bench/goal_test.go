package main

import (
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
