package main

import (
	"testing"
	"time"
)

func TestAProofHasEnoughOnceItsTargetsAreMeasured(t *testing.T) {
	if enoughProofs(samples{}) {
		t.Error("enough before the first round")
	}
	round := &sample{walls: make([]time.Duration, enough), wall: enoughTime - time.Millisecond}
	all := samples{sluiceName: {round}}
	if enoughProofs(all) {
		t.Error("enough after too short a time")
	}
	all[sluiceName] = append(all[sluiceName], round)
	if !enoughProofs(all) {
		t.Error("not enough although the targets are measured")
	}
}
