package memory

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// goShare is the part of the container's memory limit that Go may use before it collects garbage at any
	// cost. The rest is memory that Go does not count: the binary, kernel buffers, memory not yet returned.
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

// Limit returns how much memory, in bytes, the process may use: the least of GOMEMLIMIT, the limit of the container
// and the memory of the machine; 1 GiB if nothing is known.
func Limit() int64 { return limit(memlimit.FromCgroup, memlimit.FromSystem) }

func limit(container, machine memlimit.Provider) int64 {
	least := uint64(math.MaxInt64)
	for _, limit := range []memlimit.Provider{setByUser, container, machine} {
		if is, err := limit(); err == nil {
			least = min(least, is)
		}
	}
	if least == math.MaxInt64 {
		return unknownLimit
	}
	return int64(least)
}

// setByUser returns GOMEMLIMIT.
func setByUser() (uint64, error) {
	if os.Getenv("GOMEMLIMIT") == "" {
		return 0, memlimit.ErrNoLimit
	}
	return uint64(debug.SetMemoryLimit(-1)), nil
}
