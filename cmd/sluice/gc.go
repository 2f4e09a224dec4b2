package main

import (
	"os"
	"runtime/debug"
)

// gcPercent is the growth of the heap, in percent, at which the garbage collector runs. Most of the
// heap lives long and contains no pointers, so running the collector twice as often as Go's default
// costs little CPU and saves a quarter of the memory.
const gcPercent = 50

// setGCPercent configures the garbage collector, unless the environment variable GOGC does.
func setGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
