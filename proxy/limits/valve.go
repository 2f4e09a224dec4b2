package limits

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// shrinkAt, shutAt and shedAt are the parts of the memory, in percent, from which memos shrink, all but system callers are
	// refused, and the heaviest callers lose their holds.
	shrinkAt, shutAt, shedAt = 75, 85, 92
	// calm is how often the memory is read, and alert how often from shrinkAt on.
	calm, alert = 100 * time.Millisecond, 25 * time.Millisecond
)

// Valve keeps the memory of the process within its limit, by the real use of the process: prices of a Ledger are estimates.
type Valve struct {
	limit int64
	used  func() int64
	last  atomic.Int64 // bytes
}

// Guarded is the target of a Valve.
type Guarded struct {
	// Shrink makes memos take so many bytes less; it may take all again at 0.
	Shrink func(bytes int64)
	// Ledgers refuse callers, and shed holds in this order.
	Ledgers []*Ledger
}

// NewValve returns a Valve for a limit in bytes. used returns how many the process uses that it cannot free at once, such as
// Used.
func NewValve(limit int64, used func() int64) *Valve { return &Valve{limit: limit, used: used} }

// Run guards until ctx ends.
func (v *Valve) Run(ctx context.Context, g Guarded) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if v.look(g) >= shrinkAt {
			timer.Reset(alert)
		} else {
			timer.Reset(calm)
		}
	}
}

// look reads the memory once and acts. It returns how much is used, in percent.
func (v *Valve) look(g Guarded) (percent int64) {
	used := v.used()
	v.last.Store(used)
	percent = used * 100 / max(1, v.limit)
	g.Shrink(max(0, used-v.limit*shrinkAt/100))
	for _, l := range g.Ledgers {
		l.setShut(percent >= shutAt)
	}
	if percent < shedAt {
		return percent
	}
	over := used - v.limit*shutAt/100
	for _, l := range g.Ledgers {
		if over > 0 {
			over -= l.Shed(over)
		}
	}
	runtime.GC() // Used is as of the last collection
	return percent
}

// State returns the bytes in use, and the limit.
func (v *Valve) State() (used, limit int64) { return v.last.Load(), v.limit }

// The metrics of the runtime that Used reads.
var usedMetrics = []string{
	"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/released:bytes", "/memory/classes/total:bytes",
}

// Used returns a function that returns how many bytes the process uses which it cannot free at once: live bytes after the
// last collection, gaps between objects, stacks, and by the cgroup the memory of the kernel, such as buffers of sockets. A cgroup
// whose limit is more than twice that of the process may have other processes, and does not count.
func Used(limit int64) func() int64 {
	samples := make([]metrics.Sample, len(usedMetrics))
	for i, name := range usedMetrics {
		samples[i].Name = name
	}
	group := cgroupOf("/proc/self/cgroup", "/sys/fs/cgroup")
	if most, err := memlimit.FromCgroup(); err != nil || most > 2*uint64(limit) {
		group = ""
	}
	return func() int64 {
		metrics.Read(samples)
		v := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
		live, objects, free, released, total := v(0), v(1), v(2), v(3), v(4)
		idle := free + max(0, objects-live) // garbage, and memory that can be returned
		used := total - released - idle
		if all, err := group.anonymous(); err == nil {
			used = max(used, all-idle)
		}
		return used
	}
}

// cgroup is the directory of a memory cgroup; empty if there is none.
type cgroup string

// cgroupOf returns the memory cgroup that a file like /proc/self/cgroup names.
func cgroupOf(file, root string) cgroup {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) { // HIERARCHY:CONTROLLERS:PATH, see cgroups(7); version 2 names no controllers
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 || f[1] != "" && f[1] != "memory" {
			continue
		}
		for _, dir := range []string{filepath.Join(root, f[1], f[2]), filepath.Join(root, f[1])} { // a container sees its own as the root
			if _, err := cgroup(dir).anonymous(); err == nil {
				return cgroup(dir)
			}
		}
	}
	return ""
}

var errNoCgroup = errors.New("no memory cgroup")

// anonymous returns the bytes of the cgroup without pages of files, which the kernel drops by itself.
func (c cgroup) anonymous() (int64, error) {
	if c == "" {
		return 0, errNoCgroup
	}
	usage, err := c.number("memory.current")
	file, reclaimable := "file", "slab_reclaimable"
	if err != nil {
		usage, err = c.number("memory.usage_in_bytes")
		file, reclaimable = "total_cache", ""
	}
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(string(c), "memory.stat"))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && (f[0] == file || f[0] == reclaimable) {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			usage -= n
		}
	}
	return usage, err
}

func (c cgroup) number(name string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(string(c), name))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
