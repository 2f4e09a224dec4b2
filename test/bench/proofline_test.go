package main

import (
	"testing"
	"time"
)

// The CPU of the apiserver is known from fewer readers where it is skipped: that measures no target.
func TestALineHasEnoughOnceItsTargetsAreMeasured(t *testing.T) {
	l := newProofLine(proofCase{objects: 1, readers: 200})
	l.By[apiserverName] = &proofFigures{CPU: 1}
	if l.enough() {
		t.Error("enough before the first round")
	}
	batch := &proofBatch{walls: make([]time.Duration, enough), wall: enoughTime - time.Millisecond}
	l.add(sluiceName, batch)
	if l.enough() {
		t.Error("enough after too short a time")
	}
	l.add(sluiceName, batch)
	if !l.enough() {
		t.Error("not enough although the targets are measured")
	}
}
