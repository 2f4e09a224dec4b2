package main

import (
	"bufio"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sluice/proxy/accounts"
)

const (
	// maxDescriptors is what is assumed where the number of open files is not limited.
	maxDescriptors = 1 << 20
	// callerMemoryEvery is how often the memory for callers is calculated.
	callerMemoryEvery = 5 * time.Second
)

// machine returns what the process may use: the memory of the configuration or, if that is 0, what the Go
// runtime may use, at most what there is below root, which is "/".
func machine(root string, configured int64) accounts.Machine {
	m := accounts.Machine{Memory: configured, Descriptors: maxDescriptors}
	if m.Memory == 0 {
		m.Memory = min(debug.SetMemoryLimit(-1), totalMemory(root))
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		m.Descriptors = int64(min(files.Cur, maxDescriptors))
	}
	return m
}

// totalMemory returns the memory of the machine in bytes; 1 GiB if that is unknown.
func totalMemory(root string) int64 {
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 1 << 30
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err == nil && kib > 0 && kib < math.MaxInt64>>10 {
				return kib << 10
			}
		}
	}
	return 1 << 30
}

// callerMemory returns how much of a machine's memory callers may take beside what is cached: an eighth
// stays free for garbage, and callers always have a quarter.
func callerMemory(m accounts.Machine, cached int64) int64 {
	return max(m.Memory/4, m.Memory*7/8-cached)
}

// followCallerMemory keeps the memory of callers in step with what is cached, until ctx ends.
func (c *components) followCallerMemory(ctx context.Context) error {
	t := time.NewTicker(callerMemoryEvery)
	defer t.Stop()
	for {
		objects, history := c.resources.Memory()
		c.accounts.SetMemory(callerMemory(c.machine, objects+history+c.encoded.Used()))
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
