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
