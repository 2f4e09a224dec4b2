package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// unreachable is in npm's messages about a network without the registry.
var unreachable = regexp.MustCompile(`\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|E429|E50[0-9])\b`)

// Informers of the JavaScript client have the apiserver's state, also after a restart of Sluice.
func TestJavaScriptClientFollowsTheApiserver(t *testing.T) {
	sluice := apiserver.StartSluice(t)
	namespace := apiserver.Namespace(t)
	w := configMaps.at(t, apiserver, namespace)
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

// startNode installs the client from its lock file in a temporary directory, and runs main.js.
func startNode(t *testing.T, kubeconfig, namespace string) *node {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("node")); err != nil {
		t.Fatal(err)
	}
	// By its defaults npm waits for a registry that does not respond for a quarter of an hour.
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=60000")
	install.Dir = dir
	switch out, err := install.CombinedOutput(); {
	case err != nil && unreachable.Match(out):
		t.Skip("npm does not reach its registry")
	case err != nil:
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "main.js"), kubeconfig, namespace)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // also closed when this process dies
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, states: map[string]summary{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.read(stdout)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-done
		_ = cmd.Wait() // killed by the test's context, if not ended by its input
	})
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
