package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the part of the container's memory limit that Go may use before it collects garbage at any
// cost. The rest is for what Go does not count: the binary, kernel buffers, memory not yet returned.
const memoryShare = 0.9

// setMemoryLimit sets the memory limit of the Go runtime below the memory limit of the container,
// unless the environment variable GOMEMLIMIT is set. Without it the kernel would kill the process
// while there is garbage to collect. It returns the limit in bytes, 0 if there is none.
func setMemoryLimit(root string) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := containerMemory(root)
	if limit == 0 {
		return 0
	}
	limit = int64(float64(limit) * memoryShare)
	debug.SetMemoryLimit(limit)
	return limit
}

// storesShare is the part of the memory of the process that stores may take, as a divisor. The rest is for
// encoded objects, connections, responses and garbage.
const storesShare = 2

// storesMemory returns the limit of all stores together: the configured one, or if that is 0 what follows from
// the memory of the process.
func storesMemory(configured, process int64) int64 {
	if configured != 0 {
		return configured
	}
	return process / storesShare
}

// processMemory returns how much memory, in bytes, the process may use: GOMEMLIMIT, else the limit of the
// container, else the memory of the machine; 0 if nothing is known. root is "/".
func processMemory(root string) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
			return limit
		}
	}
	if limit := containerMemory(root); limit != 0 {
		return limit
	}
	return machineMemory(root)
}

// machineMemory returns the memory of the machine in bytes, 0 if it is not known.
func machineMemory(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if kilobytes, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kilobytes), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// containerMemory returns the least memory limit, in bytes, of the cgroups that the process is in, by the
// files below root, which is "/"; 0 if there is none. A container sees its own cgroup at the top of the
// mount, another process sees the path to its cgroup.
func containerMemory(root string) int64 {
	least := int64(math.MaxInt64)
	for _, file := range limitFiles(root) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
		if err == nil && limit > 0 {
			least = min(least, limit)
		}
	}
	// Version 1 says "no limit" by the largest number of whole pages.
	if least > math.MaxInt64>>1 {
		return 0
	}
	return least
}

// limitFiles returns where the limits of the process's cgroups may be, those of its parents included.
func limitFiles(root string) []string {
	f, err := os.Open(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var files []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// hierarchy-ID:controllers:path; version 2 has no controllers
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, name := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if parts[1] != "memory" {
				continue
			}
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			files = append(files, filepath.Join(root, mount, path, name))
			if path == "/" {
				break
			}
		}
	}
	return files
}
