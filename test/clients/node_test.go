package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// summary holds the compared parts of ConfigMaps, by name, as node/main.js prints them.
type summary map[string]struct {
	Version string            `json:"version"`
	Data    map[string]string `json:"data"`
}

// Informers of the JavaScript client have the apiserver's state, also after a restart of Sluice.
func TestJavaScriptClientFollowsTheApiserver(t *testing.T) {
	sluice := apiserver.StartSluice(t)
	namespace := apiserver.Namespace(t)
	w := configMaps.in(t, namespace)
	w.create("first")
	w.create("second")
	w.label("second", "app", "other")
	p := startNode(t, sluice.Kubeconfig(t, "admin"), namespace)
	p.converge(namespace)

	w.create("third")
	w.label("third", "n", "2")
	p.converge(namespace)
	w.label("third", "app", "other")
	w.label("second", "app", "x")
	p.converge(namespace)
	w.delete("first")
	p.converge(namespace)

	sluice.Restart(t)
	w.create("fourth")
	w.delete("third")
	w.label("second", "n", "2")
	p.converge(namespace)
}

// node is a running node/main.js.
type node struct {
	t      *testing.T
	mu     sync.Mutex
	states map[string]summary // of its informers, by their selectors; guarded by mu
	failed string             // guarded by mu
}

// startNode runs main.js.
func startNode(t *testing.T, kubeconfig, namespace string) *node {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(harness.InstallNode(t, "node"), "main.js"), kubeconfig, namespace)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // main.js ends when this process dies
		t.Fatal(err)
	}
	n := &node{t: t, states: map[string]summary{}}
	go n.read(startCommand(t, cmd))
	return n
}

func (n *node) read(r io.Reader) {
	in := bufio.NewScanner(r)
	for in.Scan() {
		var line struct {
			Selector string
			State    summary
		}
		err := json.Unmarshal(in.Bytes(), &line)
		n.mu.Lock()
		if n.states[line.Selector] = line.State; err != nil || line.State == nil {
			n.failed = in.Text()
		}
		n.mu.Unlock()
	}
}

// converge waits until both informers have the apiserver's state.
func (n *node) converge(namespace string) {
	n.t.Helper()
	for _, selector := range []string{"", "app=x"} {
		harness.Eventually(n.t, "the informer of "+selector+" converges", func() error {
			list, err := apiserver.Client("admin").CoreV1().ConfigMaps(namespace).List(n.t.Context(), metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return err
			}
			want := summary{}
			for _, m := range list.Items {
				one := want[m.Name]
				one.Version, one.Data = m.ResourceVersion, m.Data
				want[m.Name] = one
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if diff := cmp.Diff(want, n.states[selector]); diff != "" {
				return fmt.Errorf("(-apiserver +node), failed %q:\n%s", n.failed, diff)
			}
			return nil
		})
	}
}
