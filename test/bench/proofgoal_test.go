package main

import (
	"errors"
	"math"
	"testing"
)

func TestGoalsOfProofsDependOnTheReaders(t *testing.T) {
	line := func(readers int, p50, cpu float64) *proofLine {
		return &proofLine{Readers: readers, failed: map[string]bool{}, By: map[string]*proofFigures{
			apiserverName: {P50: 1, CPU: 1}, sluiceName: {P50: p50, CPU: cpu},
		}}
	}
	failed := line(1, 1, 1)
	failed.fail(sluiceName, errors.New("no"))
	for _, tc := range []struct {
		name string
		line *proofLine
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
	line := func(objects int, charged ...float64) *proofLine {
		l := &proofLine{Objects: objects, By: map[string]*proofFigures{apiserverName: {Charged: 100, Wall: 10}}}
		for i, seconds := range charged {
			l.By[[]string{sluiceName, twoTiersName}[i]] = &proofFigures{Charged: seconds, Wall: 10}
		}
		return l
	}
	for _, row := range []struct {
		lines []*proofLine
		want  float64
	}{
		{[]*proofLine{line(100, 0.5, 0.5)}, 0}, // saved before
		{[]*proofLine{line(100, 1, 1), line(100, 1, 1)}, 0.05},
		{[]*proofLine{line(100, 4)}, 0.15},
	} {
		for _, got := range shares(func(f *proofFigures) float64 { return f.Charged })(&report{Proofs: row.lines}) {
			if math.Abs(got-row.want) > 1e-9 {
				t.Errorf("share is %v, want %v", got, row.want)
			}
		}
	}
}
