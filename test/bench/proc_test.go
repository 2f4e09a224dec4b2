package main

import (
	"os"
	"syscall"
	"testing"
)

// TestResetPeakForgetsEarlierCases maps and unmaps memory and resets the peak.
func TestResetPeakForgetsEarlierCases(t *testing.T) {
	const size = 128 << 20
	self := proc(os.Getpid())
	if err := self.resetPeak(); err != nil {
		t.Fatal(err)
	}
	before, err := self.resident()
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += os.Getpagesize() {
		mapped[i] = 1
	}
	if err := syscall.Munmap(mapped); err != nil {
		t.Fatal(err)
	}
	if peak, err := self.peak(); err != nil || peak < before+size*9/10 {
		t.Errorf("peak is %d after mapping %d bytes at %d, %v", peak, size, before, err)
	}
	if err := self.resetPeak(); err != nil {
		t.Fatal(err)
	}
	if peak, err := self.peak(); err != nil || peak > before+size/2 {
		t.Errorf("peak is %d after a reset, memory was %d before, %v", peak, before, err)
	}
}
