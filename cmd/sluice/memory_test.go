package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestMemoryLimitIsTheLeastOfTheCgroups(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"a limit of a parent", map[string]string{
			"proc/self/cgroup": "0::/pods/a\n", "sys/fs/cgroup/pods/memory.max": "4096\n", "sys/fs/cgroup/pods/a/memory.max": "8192\n",
		}, 4096},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "65536\n",
		}, 65536},
		{"version 1 without a limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		{"no cgroups", nil, 0},
	} {
		root := t.TempDir()
		for name, text := range tt.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := containerMemory(root); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}

func TestMemoryLimitLeavesATenthUnlessGOMEMLIMITIsSet(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := t.TempDir()
	for name, text := range map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "1GiB")
	if got := setMemoryLimit(root); got != 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("limit %d in spite of GOMEMLIMIT", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	if got := setMemoryLimit(root); got != 900000000 || debug.SetMemoryLimit(-1) != got {
		t.Errorf("limit %d, want 900000000", got)
	}
}

func TestMemoryOfTheProcessIsGOMEMLIMITThatOfTheContainerOrOfTheMachine(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want int64) {
		t.Helper()
		if got := processMemory(root); got != want {
			t.Errorf("%s: %d bytes, want %d", what, got, want)
		}
	}
	before := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	check("nothing is known", 0)
	write("proc/meminfo", "MemTotal:       24639276 kB\nMemFree:        18223468 kB\n")
	check("the machine", 24639276<<10)
	write("proc/self/cgroup", "0::/\n")
	write("sys/fs/cgroup/memory.max", "1073741824\n")
	check("the container", 1<<30)
	t.Setenv("GOMEMLIMIT", "off")
	check("GOMEMLIMIT=off", 1<<30)
	t.Setenv("GOMEMLIMIT", "300MiB")
	debug.SetMemoryLimit(300 << 20) // as the runtime does at its start
	check("GOMEMLIMIT", 300<<20)
}

func TestStoresMayTakeHalfOfTheMemoryUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	for _, tt := range []struct{ configured, process, want int64 }{{0, 1 << 30, 512 << 20}, {700 << 20, 1 << 30, 700 << 20}, {0, 0, 0}} {
		if got := storesMemory(tt.configured, tt.process); got != tt.want {
			t.Errorf("configured %d of %d: %d bytes, want %d", tt.configured, tt.process, got, tt.want)
		}
	}
}
