package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tail is the number of lines of each log that Logs returns.
const tail = 25

// Logs returns the last lines of each log of the control plane, and the first lines of a panic.
func (c *ControlPlane) Logs() string { return Logs(c.Dir) }

// Logs returns the last lines of each log in a directory, and the first lines of a panic.
func Logs(dir string) string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.log")) // the pattern is valid
	var b strings.Builder
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			content = []byte(err.Error())
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		fmt.Fprintf(&b, "--- the end of %s\n%s\n", path, strings.Join(lines[max(0, len(lines)-tail):], "\n"))
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "panic: ") }); i >= 0 {
			fmt.Fprintf(&b, "--- a panic in %s\n%s\n", path, strings.Join(lines[i:min(len(lines), i+2*tail)], "\n"))
		}
	}
	return b.String()
}
