package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/harness"
)

// peer is a program of others that shows what it has read.
type peer struct {
	name    string
	folder  string // of this package, if it has one
	version string
	needs   []string // programs that must be installed
	build   func(t *testing.T) (program string)
	start   func(t *testing.T, program, kubeconfig string) shows
}

// shows is a running peer.
type shows struct {
	// output returns what the peer shows. Two peers that have read the same show the same.
	output func() (string, error)
	stop   func()
}

const stateMetricsVersion, k9sVersion = "v2.20.0", "v0.51.0"

var readers = []peer{
	{"kube-state-metrics", "kube-state-metrics", stateMetricsVersion, nil,
		ofModule("k8s.io/kube-state-metrics/v2", stateMetricsVersion), stateMetricsOfAll},
	{"Prometheus, service discovery", "prometheus", "v0.316.0", nil, goProgram("prometheus"), answering()},
	{"Argo CD, gitops-engine", "gitops-engine", "20260914", nil, goProgram("gitops-engine"), answering()},
	{"JavaScript client", "javascript", "1.4.0", nil, javascript, answering("node")},
	{"Python client", "python", "22.6.0", []string{debianPython}, python, answering(debianPython)},
	{"k9s", "k9s", k9sVersion, []string{"tmux"}, ofModule("github.com/derailed/k9s", k9sVersion), k9s},
}

// A program of others shows through Sluice the same as at the apiserver: while objects and definitions change,
// and after a start. That includes one that has long followed through Sluice and one that has just read the apiserver.
func TestPeersShowTheSameThroughSluice(t *testing.T) {
	for _, p := range readers {
		t.Run(p.folder, func(t *testing.T) {
			p.require(t)
			defer clean(t)
			atRest() // before anything reads
			program, e := p.build(t), newEnv(t, "", "")
			var directly, through costs
			before := p.start(t, program, e.directly)
			change(t, marks("started")...)
			same(t, before, before, "started")
			directly.hour = hour(t, e.direct, before, "directly") // Sluice has read nothing yet
			after := p.start(t, program, e.through)
			for _, c := range changes {
				change(t, append(c.commands, marks(c.name)...)...)
				same(t, before, after, c.name)
			}
			before.stop()
			directly.start = median(t, e.direct, func(i int) {
				if i > 0 {
					before.stop()
				}
				before = p.start(t, program, e.directly)
				same(t, before, after, "undefined")
			})
			after.stop()
			e.idle(t)
			counted := sourcesOf(t, e.sluice)
			through.start = median(t, e.upstream, func(i int) {
				if i > 0 {
					after.stop()
				}
				after = p.start(t, program, e.through)
				same(t, before, after, "undefined")
			})
			change(t, append(marks("last"), "label --overwrite -f objects.yaml step=last")...)
			same(t, before, after, "last")
			before.stop()
			through.hour = hour(t, e.upstream, after, "through")
			after.stop()
			e.idle(t)
			p.report(t, directly, through, sourcesOf(t, e.sluice).since(counted))
		})
	}
}

// costs are what one start of a peer cost, and the bytes that the apiserver answers to it in an hour besides.
type costs struct {
	start cost
	hour  int64
}

func (c costs) String() string { return c.start.String() + " | " + size(c.start.bytes+c.hour) }

// wait waits until a peer shows what was made last.
func (s shows) wait(t *testing.T, mark string) {
	t.Helper()
	harness.Eventually(t, "it shows "+mark, func() error {
		out, err := s.output()
		if err == nil && !strings.Contains(out, mark) {
			err = fmt.Errorf("no %s in %d bytes", mark, len(out))
		}
		return err
	})
}

// same waits until two peers show the same, and with it what was made last.
func same(t *testing.T, a, b shows, mark string) {
	t.Helper()
	harness.Eventually(t, "both show "+mark, func() error {
		directly, err := a.output()
		if err != nil {
			return fmt.Errorf("directly: %w", err)
		}
		through, err := b.output()
		switch {
		case err != nil:
			return fmt.Errorf("through Sluice: %w", err)
		case !strings.Contains(directly, mark):
			return fmt.Errorf("directly: no %s in %d bytes", mark, len(directly))
		case directly != through:
			return fmt.Errorf("-directly +through Sluice:\n%s", difference(directly, through))
		}
		return nil
	})
}

// difference returns the first lines that only one of two texts has.
func difference(a, b string) string {
	diff := cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n"))
	return diff[:min(len(diff), 2000)]
}

// require skips the test without what it needs.
func (p peer) require(t *testing.T) {
	t.Helper()
	if os.Getenv("PEERS") == "" {
		t.Skip("PEERS is not set: run make test-clients")
	}
	for _, program := range p.needs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
}

// report prints the row of the peer in docs/clients.md.
func (p peer) report(t *testing.T, directly, through costs, requests sources) {
	served, how := requests.from("cache")
	passed, why := requests.from("upstream")
	refused, _ := requests.from("gateway")
	t.Logf("ROW %s %d of %d | %s | served: %s", p.row(), served, served+passed+refused, why, how)
	t.Logf("COST | %s | %s | %s |", p.name, directly, through)
}

// row returns the beginning of the peer's row in docs/clients.md.
func (p peer) row() string { return "| " + p.name + " " + p.version + " |" }

func TestPageHasARowForEachPeerInItsVersion(t *testing.T) {
	peers := slices.Clone(readers)
	for _, w := range writers {
		peers = append(peers, w.peer)
	}
	page := harness.Read(t, "docs/clients.md")
	for _, p := range peers {
		if !strings.Contains(page, "\n"+p.row()) {
			t.Errorf("docs/clients.md has no row %s", p.row())
		}
		file := filepath.Join(p.folder, "go.mod")
		switch p.folder {
		case "python", "kube-state-metrics", "k9s": // the first is Debian's
			continue
		case "javascript":
			file = filepath.Join("..", "clients", "node", "package.json")
		}
		if pin, err := os.ReadFile(file); err != nil || !strings.Contains(string(pin), p.version) {
			t.Errorf("%s has not %s, %v", file, p.version, err)
		}
	}
}
