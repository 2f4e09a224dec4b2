package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"sluice/test/harness"
)

// passing are the resources whose objects come and go by themselves.
var passing = []string{"events", "leases"}

// objects returns every object of the API, as RESOURCE NAMESPACE/NAME.
func (n *Node) objects(t *testing.T) map[string]bool {
	t.Helper()
	found, err := n.listObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (n *Node) listObjects(ctx context.Context) (map[string]bool, error) {
	lists, err := n.Client("admin").Discovery().ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(n.RESTConfig("admin"))
	if err != nil {
		return nil, err
	}
	listable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	found := make(map[string]bool)
	for _, list := range listable {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(passing, r.Name) {
				continue
			}
			objects, err := client.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", r.Name, err)
			}
			for _, o := range objects.Items {
				found[r.Name+" "+o.Namespace+"/"+o.Name] = true
			}
		}
	}
	return found, nil
}

// nothingLeft waits until the API has only the objects that were there before, and the node runs no container. There must
// have been no pods before.
func (n *Node) nothingLeft(t *testing.T, before map[string]bool) {
	t.Helper()
	harness.Eventually(t, "no object is left behind", func() error {
		after, err := n.listObjects(t.Context())
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
