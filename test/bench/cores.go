package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// pin restricts the processes to the first CPU, or with others to all CPUs but the first. With a single
// CPU it does nothing.
func pin(others bool, procs ...proc) error {
	if runtime.NumCPU() < 2 {
		return nil
	}
	var set unix.CPUSet
	set.Set(0)
	if others {
		set.Zero()
		for i := 1; i < runtime.NumCPU(); i++ {
			set.Set(i)
		}
	}
	for _, p := range procs {
		if err := p.setAffinity(&set); err != nil {
			return err
		}
	}
	return nil
}

// setAffinity sets the CPUs of all threads of the process. New threads inherit them.
func (p proc) setAffinity(to *unix.CPUSet) (err error) {
	defer fails(&err)
	tasks := must(filepath.Glob(p.path("task/*")))
	for _, task := range tasks {
		id := must(strconv.Atoi(filepath.Base(task)))
		if err := unix.SchedSetaffinity(id, to); err != nil {
			if _, gone := os.Stat(task); gone != nil {
				continue
			}
			return fmt.Errorf("CPUs of thread %d: %w", id, err)
		}
	}
	return nil
}

// self is this process.
func self() proc { return proc(os.Getpid()) }
