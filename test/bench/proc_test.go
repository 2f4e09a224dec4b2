package main

import (
	"os"
	"syscall"
	"testing"
)

// TestResetPeakForgetsEarlierCases maps and unmaps memory and resets the peak.
func TestResetPeakForgetsEarlierCases(t *testing.T) {
	const size = 128 << 20
	self().resetPeak()
	before := self().resident()
	mapped := must(syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	for i := 0; i < size; i += os.Getpagesize() {
		mapped[i] = 1
	}
	check(syscall.Munmap(mapped))
	if peak := self().peak(); peak < before+size*9/10 {
		t.Errorf("peak is %d after mapping %d bytes at %d", peak, size, before)
	}
	self().resetPeak()
	if peak := self().peak(); peak > before+size/2 {
		t.Errorf("peak is %d after a reset, memory was %d before", peak, before)
	}
}
