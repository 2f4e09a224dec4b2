package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// proc is a running process, as /proc shows it.
type proc int

// self is this process.
func self() proc { return proc(os.Getpid()) }

// tick is the unit of CPU times in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// cpu returns the user and system CPU time of the process.
func (p proc) cpu() time.Duration {
	s := must(p.process().Stat())
	return time.Duration(s.UTime+s.STime) * tick
}

// resetPeak resets the peak to the current resident memory.
func (p proc) resetPeak() {
	check(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0))
}

// peak returns the maximum of resident memory since resetPeak, in bytes.
func (p proc) peak() int64 { return int64(must(p.process().NewStatus()).VmHWM) }

// resident returns the resident memory, in bytes.
func (p proc) resident() int64 { return int64(must(p.process().NewStatus()).VmRSS) }

func (p proc) process() procfs.Proc { return must(procfs.NewProc(int(p))) }

// eachThread calls do for all threads of the process. An error counts unless the thread has ended.
func (p proc) eachThread(do func(procfs.Proc) error) {
	for _, t := range must(procfs.AllThreads(int(p))) {
		if err := do(t); err != nil {
			if _, gone := t.Stat(); gone == nil {
				check(fmt.Errorf("thread %d: %w", t.PID, err))
			}
		}
	}
}

// pin restricts the processes to the first CPU, or with others to all CPUs but the first. New threads inherit it. With
// a single CPU it does nothing.
func pin(others bool, procs ...proc) {
	if runtime.NumCPU() < 2 {
		return
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
		p.eachThread(func(t procfs.Proc) error { return unix.SchedSetaffinity(t.PID, &set) })
	}
}

// lowestPriority makes all threads of the process run only while nothing else wants to. New threads inherit it.
func (p proc) lowestPriority() {
	idle := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	p.eachThread(func(t procfs.Proc) error { return unix.SchedSetAttr(t.PID, idle, 0) })
}

// loadAverage returns the machine's load average over one minute; zero if unknown. It shows how much other work the machine
// did.
func loadAverage() float64 {
	fs, _ := procfs.NewDefaultFS()
	if load, err := fs.LoadAvg(); err == nil {
		return load.Load1
	}
	return 0
}
