package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// newCgroup creates a group of processes whose memory is limited, below the one of this process, which needs root. It returns
// its directory. The limit is in bytes.
func newCgroup(limit int64) (dir string, err error) {
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
	if dir, err = os.MkdirTemp(parent, "sluice-"); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, limit, 10), 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("limit the memory of %s: %w", dir, err), os.Remove(dir))
	}
	return dir, nil
}
