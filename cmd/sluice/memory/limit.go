package memory

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// goShare is the part of the container's memory limit that Go may use before it collects garbage at any
	// cost. The rest is for what Go does not count: the binary, kernel buffers, memory not yet returned.
	goShare = 0.9
	// unknownLimit is the memory, in bytes, that is assumed where no limit can be read.
	unknownLimit = 1 << 30
)

// SetLimit sets the memory limit of the Go runtime below the memory limit of the container, unless the
// environment variable GOMEMLIMIT is set. Without it the kernel would kill the process while there is garbage to
// collect. It returns the limit in bytes, 0 if there is none.
func SetLimit() int64 { return setLimit(memlimit.FromCgroup) }

func setLimit(container memlimit.Provider) int64 {
	limit, err := memlimit.ApplyRatio(container, goShare)()
	if err != nil || limit > math.MaxInt64 || os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	debug.SetMemoryLimit(int64(limit))
	return int64(limit)
}

// Limit returns how much memory, in bytes, the process may use: GOMEMLIMIT, else the limit of the container, else
// the memory of the machine; 1 GiB if nothing is known.
func Limit() int64 { return limit(memlimit.FromCgroup, memlimit.FromSystem) }

func limit(container, machine memlimit.Provider) int64 {
	if set := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && set != math.MaxInt64 {
		return set
	}
	is, err := memlimit.ApplyFallback(container, machine)()
	if err != nil || is > math.MaxInt64 {
		return unknownLimit
	}
	return int64(is)
}
