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

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// child finds the child of this process that runs the program of this name.
func child(program string) (proc, error) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		f, err := proc(pid).stat()
		if err != nil || f.parent != os.Getpid() {
			continue // gone meanwhile, or somebody else's
		}
		if exe, err := os.Readlink(dir + "/exe"); err == nil && filepath.Base(exe) == program {
			return proc(pid), nil
		}
	}
	return 0, fmt.Errorf("no child process runs %s", program)
}

// stat is what matters of /proc/PID/stat.
type stat struct {
	parent int
	cpu    time.Duration // user and system
}

func (p proc) stat() (stat, error) {
	text, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return stat{}, err
	}
	// The program's name, in parentheses, may hold anything; field 3 follows it.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 13 {
		return stat{}, fmt.Errorf("%s: %q", p.path("stat"), text)
	}
	parent, _ := strconv.Atoi(f[1])
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return stat{parent: parent, cpu: time.Duration(user+system) * tick}, nil
}

func (p proc) path(file string) string { return fmt.Sprintf("/proc/%d/%s", p, file) }

// cpu is the CPU time used so far.
func (p proc) cpu() (time.Duration, error) {
	s, err := p.stat()
	return s.cpu, err
}

// resetPeak makes peak start anew.
func (p proc) resetPeak() error { return os.WriteFile(p.path("clear_refs"), []byte("5"), 0) }

// peak is the most memory that was resident since resetPeak, in bytes.
func (p proc) peak() (int64, error) { return p.memory("VmHWM:") }

// resident is the memory that is resident now, in bytes.
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

// loadAverage is the machine's over the last minute, to tell how busy it was with other things.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
