package memory

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func unlimited() (uint64, error) { return 0, memlimit.ErrNoLimit }

func TestGoHasATenthLessThanTheContainerUnlessGOMEMLIMITIsSet(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "1GiB")
	if got := setLimit(memlimit.Limit(1_000_000_000)); got != 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT was overridden by %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	if got := setLimit(unlimited); got != 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("%d bytes without a limit", got)
	}
	if got := setLimit(memlimit.Limit(1_000_000_000)); got != 900_000_000 || debug.SetMemoryLimit(-1) != got {
		t.Errorf("%d bytes", got)
	}
}

func TestMemoryOfTheProcessIsTheLeastOfGOMEMLIMITContainerAndMachine(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, tt := range []struct {
		name, goLimit      string
		container, machine memlimit.Provider
		want               int64
	}{
		{"nothing is known", "", unlimited, unlimited, unknownLimit},
		{"the machine", "", unlimited, memlimit.Limit(24 << 30), 24 << 30},
		{"the container", "", memlimit.Limit(2 << 30), memlimit.Limit(24 << 30), 2 << 30},
		{"GOMEMLIMIT=off", "off", memlimit.Limit(2 << 30), memlimit.Limit(24 << 30), 2 << 30},
		{"a container larger than its machine", "", memlimit.Limit(64 << 30), memlimit.Limit(24 << 30), 24 << 30},
		{"GOMEMLIMIT", "300MiB", memlimit.Limit(2 << 30), memlimit.Limit(24 << 30), 300 << 20},
	} {
		t.Setenv("GOMEMLIMIT", tt.goLimit)
		if debug.SetMemoryLimit(math.MaxInt64); tt.goLimit == "300MiB" {
			debug.SetMemoryLimit(300 << 20) // as the runtime does at its start
		}
		if got := limit(tt.container, tt.machine); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}
