package main

import (
	"errors"
	"maps"
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

func TestUpstreamShareCoversAllCasesOfASize(t *testing.T) {
	line := func(churn string, cpu, wall float64) *proofLine {
		return &proofLine{Objects: 100, churn: churn, By: map[string]*proofFigures{sluiceName: {Upstream: cpu, Wall: wall}}}
	}
	r := &report{Proofs: []*proofLine{line("", 1, 10), line("", 0, 10), line("+50/s", 3, 10)}}
	got := map[string]float64{}
	for name, v := range shares(sluiceName)(r) {
		got[name] = v
	}
	if want := map[string]float64{"share": 0.05, "share+50/s": 0.3}; !maps.Equal(got, want) {
		t.Errorf("shares are %v, want %v", got, want)
	}
}
