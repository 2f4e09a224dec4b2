package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The cgroups of pods are in one cgroup of each hierarchy, whose name ends with the process ID of the guard.
// Cgroups have no namespace that the kernel would end: the guard removes them.
const (
	cgroupPrefix   = "sluice-test-cluster-"
	cgroupVariable = "CLUSTER_CGROUP" // its name, for the processes that the guard starts
)

func cgroupName() string { return os.Getenv(cgroupVariable) }

// hierarchies returns the mount points of the cgroup hierarchies: one with cgroup v2, one for each
// controller with v1.
func hierarchies() ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2") {
			points = append(points, f[1])
		}
	}
	if len(points) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted")
	}
	return points, nil
}

// makeCgroups makes the cgroups of this guard, and removes those of guards that were killed.
func makeCgroups() error {
	if err := os.Setenv(cgroupVariable, cgroupPrefix+strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	points, err := hierarchies()
	if err != nil {
		return err
	}
	for _, point := range points {
		if err := removeStale(point); err != nil {
			return err
		}
		dir := filepath.Join(point, cgroupName())
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		// In v1 a new cpuset is empty, and no process can join it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(point, file))
			if err != nil {
				continue // another controller
			}
			if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStale removes the cgroups of guards that are no more from a hierarchy.
func removeStale(point string) error {
	paths, err := filepath.Glob(filepath.Join(point, cgroupPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), cgroupPrefix))
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue // another run
		}
		if err := removeTree(path); err != nil {
			return err
		}
	}
	return nil
}

// removeLimit is how long the kernel may take to end the processes of a namespace.
const removeLimit = 20 * time.Second

// removeCgroups removes the cgroups, from the innermost on. It retries, because process 1 is gone before the
// last of the others is.
func removeCgroups() error {
	points, err := hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(removeLimit)
	for _, point := range points {
		for {
			err := removeTree(filepath.Join(point, cgroupName()))
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("left behind: %w", err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
