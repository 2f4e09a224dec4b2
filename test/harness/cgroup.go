package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroup is a group of processes whose memory is limited.
type cgroup string // its directory

// newCgroup creates a group below the one of this process, which needs root. The limit is in bytes.
func newCgroup(limit int64) (cgroup, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	parent, file := "", ""
	for line := range strings.Lines(string(text)) {
		// HIERARCHY:CONTROLLERS:PATH, see cgroups(7); version 2 has no controllers here.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "memory":
			parent, file = filepath.Join("/sys/fs/cgroup/memory", f[2]), "memory.limit_in_bytes"
		case f[1] == "" && parent == "":
			parent, file = filepath.Join("/sys/fs/cgroup", f[2]), "memory.max"
		}
	}
	if parent == "" {
		return "", errors.New("no cgroup limits memory")
	}
	dir, err := os.MkdirTemp(parent, "sluice-")
	if err != nil {
		return "", err
	}
	g := cgroup(dir)
	if err := os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, limit, 10), 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("limit the memory of %s: %w", dir, err), g.remove())
	}
	return g, nil
}

// start returns what starts a program in the group, as the same process.
func (g cgroup) start(path string, args []string) (string, []string) {
	return "/bin/sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(g), "cgroup.procs"), path}, args...)
}

// remove removes the group, whose processes have ended.
func (g cgroup) remove() error { return os.Remove(string(g)) }
