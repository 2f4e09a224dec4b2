package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// proc is a running process, as /proc shows it.
type proc int

// tick is the unit of CPU times in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// cpu returns the user and system CPU time of the process.
func (p proc) cpu() (time.Duration, error) {
	text, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return 0, err
	}
	// The program's name, in parentheses, may contain any byte; field 3 follows it.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("%s: %q", p.path("stat"), text)
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * tick, nil
}

// threads returns the CPU time of the threads that the process has, more exactly than cpu.
func (p proc) threads() (total time.Duration, err error) {
	tasks, err := filepath.Glob(p.path("task/*/schedstat"))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		var used time.Duration
		if _, err := fmt.Sscan(string(text), &used); err != nil {
			return 0, fmt.Errorf("%s: %q", task, text)
		}
		total += used
	}
	return total, nil
}

func (p proc) path(file string) string { return fmt.Sprintf("/proc/%d/%s", p, file) }

// resetPeak resets the peak to the current resident memory.
func (p proc) resetPeak() error { return os.WriteFile(p.path("clear_refs"), []byte("5"), 0) }

// peak returns the maximum of resident memory since resetPeak, in bytes.
func (p proc) peak() (int64, error) { return p.memory("VmHWM:") }

// resident returns the resident memory, in bytes.
func (p proc) resident() (int64, error) { return p.memory("VmRSS:") }

func (p proc) memory(field string) (int64, error) {
	text, err := os.ReadFile(p.path("status"))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), field)
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); !found || err != nil {
		return 0, fmt.Errorf("%s: no %s", p.path("status"), field)
	}
	return kilobytes << 10, nil
}

// loadAverage returns the machine's load average over one minute; zero if unknown. It shows how
// much other work the machine did.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
