package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/test/harness"
)

// objects returns every object of the API, as KIND NAMESPACE/NAME.
func (n *Node) objects(t *testing.T) map[string]bool {
	t.Helper()
	found, err := n.listObjects(t)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (n *Node) listObjects(t *testing.T) (map[string]bool, error) {
	k := newKubectl(t, n.Kubeconfig("admin"))
	names, err := k.command("api-resources", "--verbs=list,delete", "--output=name").Output()
	if err != nil {
		return nil, err
	}
	resources := slices.DeleteFunc(strings.Fields(string(names)), func(name string) bool { // objects of these come and go by themselves
		return strings.HasPrefix(name, "events") || strings.HasPrefix(name, "leases.")
	})
	out, err := k.command("get", strings.Join(resources, ","), "--all-namespaces",
		`--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`).Output()
	found := map[string]bool{}
	for object := range strings.Lines(string(out)) {
		found[strings.TrimSpace(object)] = true
	}
	return found, err
}

// nothingLeft waits until the API has only the objects that were there before, and the node runs no container. There must
// have been no pods before.
func (n *Node) nothingLeft(t *testing.T, before map[string]bool) {
	t.Helper()
	harness.Eventually(t, "no object is left behind", func() error {
		after, err := n.listObjects(t)
		if err != nil {
			return err
		}
		var left []string
		for object := range after {
			if !before[object] {
				left = append(left, object)
			}
		}
		if slices.Sort(left); len(left) > 0 {
			return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
		}
		return nil
	})
	harness.Eventually(t, "the node runs no container", func() error {
		running, err := exec.Command("ctr", "--address", n.Socket, "--namespace", "k8s.io", "tasks", "list", "--quiet").Output()
		if found := processes("/sluice", "/client"); err == nil && len(running)+len(found) > 0 {
			err = fmt.Errorf("containers %s, processes %v", running, found)
		}
		return err
	})
}

// processes returns the IDs of the processes in this namespace that run one of the programs.
func processes(programs ...string) (found []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if program, _, _ := strings.Cut(string(line), "\x00"); slices.Contains(programs, program) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern has a digit first
			found = append(found, pid)
		}
	}
	return found
}
