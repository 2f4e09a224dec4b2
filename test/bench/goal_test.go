package main

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestGoalIsMetByTheWorstCase(t *testing.T) {
	line := func(name string, apiserver, sluice float64) *row {
		return &row{Table: listTable, Case: name, By: map[string]*figures{apiserverName: {CPU: apiserver}, sluiceName: {CPU: sluice}}}
	}
	skipped := line("list json gzip x20", 0, 1)
	delete(skipped.By, apiserverName)
	for _, tc := range []struct {
		name  string
		lists []*row
		want  string // goal, worst case and whether it is met; empty if not measured
	}{
		{"nothing measured", nil, ""},
		{"the worst case counts", []*row{line("list json gzip x1", 100, 1), line("list json gzip x20", 50, 1)}, "0.02x 0.02x yes"},
		{"one case misses", []*row{line("list json gzip x1", 100, 1), line("list json gzip x20", 40, 1)}, "0.02x 0.025x NO"},
		{"other formats, and a line without the apiserver", []*row{line("list cbor gzip x1", 1, 1), skipped}, ""},
	} {
		var out bytes.Buffer
		(&report{Rows: tc.lists}).printGoals(&out)
		_, got, _ := strings.Cut(out.String(), goals[0].work)
		if got = strings.Join(strings.Fields(got), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestGoalsOfProofsDependOnTheReaders(t *testing.T) {
	for name, want := range map[string][2]bool{
		"proof list 100 x1": {true, false}, "proof list 100 x1 +50/s": {true, false}, "proof list 100 x2": {false, false},
		"proof list 100 x20": {false, true}, "proof list node 10000 x200 +50/s": {false, true},
	} {
		if got := [2]bool{regexp.MustCompile(solo).MatchString(name), regexp.MustCompile(herd).MatchString(name)}; got != want {
			t.Errorf("%s is of one reader, or of many: %v", name, got)
		}
	}
}

func TestShareOfProofsCoversAllCases(t *testing.T) {
	line := func(charged ...float64) *row {
		r := &row{Table: proofTable, By: map[string]*figures{apiserverName: {Charged: 100, Wall: 10}}}
		for i, seconds := range charged {
			r.By[[]string{sluiceName, twoTiersName}[i]] = &figures{Charged: seconds, Wall: 10}
		}
		return r
	}
	for _, c := range []struct {
		rows []*row
		want float64
	}{
		{[]*row{line(0.5, 0.5)}, 0}, // saved before
		{[]*row{line(1, 1), line(1, 1)}, 0.05},
		{[]*row{line(4)}, 0.15},
	} {
		if got, _ := chargedShare(&report{Rows: c.rows}, nil); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("share is %v, want %v", got, c.want)
		}
	}
}
