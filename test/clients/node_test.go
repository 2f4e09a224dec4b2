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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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

// nodeLine is a line that node/main.js prints.
type nodeLine struct {
	What   string    `json:"what"`
	Event  string    `json:"event"`
	State  summary   `json:"state"`
	Failed string    `json:"failed"`
	Error  nodeError `json:"error"`
}

type nodeError struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// Lists, watches and informers of the JavaScript client agree with the apiserver, also after a restart
// of Sluice.
func TestJavaScriptClientFollowsTheApiserver(t *testing.T) {
	sluice := apiserver.StartSluice(t)
	namespace := apiserver.Namespace(t)
	w := configMaps.at(t, apiserver, namespace)
	w.create("first")
	w.create("second")
	w.label("second", "app", "other")
	configMaps.sync(t, sluice)
	harness.Eventually(t, "the cache has both objects", func() error {
		list, err := sluice.Client("admin").CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err == nil && !cmp.Equal(summarize(list), stateOf(t, namespace, metav1.ListOptions{})) {
			err = fmt.Errorf("it has %v", summarize(list))
		}
		return err
	})
	p := startNode(t, sluice.Kubeconfig(t, "admin"), namespace)
	p.wait("ready", func() error { return p.printed("ready") })
	p.checkLists(namespace)
	p.checkErrors()
	p.converge(namespace)

	w.create("third")
	w.label("third", "n", "2")
	p.converge(namespace)
	w.label("third", "app", "other")
	w.label("second", "app", "x")
	p.converge(namespace)
	w.delete("first")
	p.converge(namespace)
	p.wait("watch events", func() error {
		want := []string{"ADDED third", "MODIFIED third", "MODIFIED third", "MODIFIED second", "DELETED first"}
		if got := p.events("watch"); !slices.Equal(got, want) {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})

	sluice.Restart(t)
	w.create("fourth")
	w.delete("third")
	w.label("second", "n", "2")
	p.converge(namespace)
}

// node is a running node/main.js.
type node struct {
	t     *testing.T
	mu    sync.Mutex
	lines []nodeLine // guarded by mu
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
	n := &node{t: t}
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
		var line nodeLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			line = nodeLine{What: "broken", Failed: in.Text()}
		}
		n.mu.Lock()
		n.lines = append(n.lines, line)
		n.mu.Unlock()
	}
}

// about returns the lines about one operation.
func (n *node) about(what string) (lines []nodeLine) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		if l.What == what {
			lines = append(lines, l)
		}
	}
	return lines
}

func (n *node) events(what string) (events []string) {
	for _, l := range n.about(what) {
		events = append(events, l.Event)
	}
	return events
}

func (n *node) wait(what string, condition func() error) {
	n.t.Helper()
	harness.Eventually(n.t, what, condition)
}

func (n *node) printed(what string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		if l.What == what {
			return nil
		}
	}
	return fmt.Errorf("printed so far: %+v", n.lines)
}

// stateOf returns the state of the apiserver.
func stateOf(t *testing.T, namespace string, o metav1.ListOptions) summary {
	t.Helper()
	list, err := apiserver.Client("admin").CoreV1().ConfigMaps(namespace).List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return summarize(list)
}

func summarize(list *corev1.ConfigMapList) summary {
	state := summary{}
	for _, m := range list.Items {
		one := state[m.Name]
		one.Version, one.Data = m.ResourceVersion, m.Data
		state[m.Name] = one
	}
	return state
}

// checkLists compares the lists that main.js makes at its start.
func (n *node) checkLists(namespace string) {
	for what, o := range map[string]metav1.ListOptions{
		"list":                {},
		"list of any version": {},
		"list by label":       {LabelSelector: "app=x"},
		"list by field":       {FieldSelector: "metadata.name=first"},
		"page":                {Limit: 1},
	} {
		lines := n.about(what)
		if len(lines) != 1 {
			n.t.Errorf("%s: %d lines", what, len(lines))
			continue
		}
		if diff := cmp.Diff(stateOf(n.t, namespace, o), lines[0].State); diff != "" {
			n.t.Errorf("%s (-apiserver +node):\n%s", what, diff)
		}
	}
}

// checkErrors checks the errors that the client reports.
func (n *node) checkErrors() {
	for what, want := range map[string]nodeError{
		"missing":      {404, "NotFound"},
		"bad selector": {400, "BadRequest"},
	} {
		lines := n.about(what)
		if len(lines) != 1 || lines[0].Error != want {
			n.t.Errorf("%s: %+v, want %+v", what, lines, want)
		}
	}
}

// converge waits until both informers have the apiserver's state.
func (n *node) converge(namespace string) {
	n.t.Helper()
	for what, selector := range map[string]string{"informer": "", "informer by label": "app=x"} {
		n.wait(what+" converges", func() error {
			lines := n.about(what)
			if len(lines) == 0 {
				return fmt.Errorf("no output")
			}
			last := lines[len(lines)-1]
			if diff := cmp.Diff(stateOf(n.t, namespace, metav1.ListOptions{LabelSelector: selector}), last.State); diff != "" {
				return fmt.Errorf("after %q (-apiserver +node):\n%s", strings.Join(n.events(what), ", "), diff)
			}
			return nil
		})
	}
}
