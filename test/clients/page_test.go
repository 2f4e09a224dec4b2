package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/harness"
)

// asked returns the number of requests that a gateway has finished.
func asked(t *testing.T, s *harness.Sluice) float64 {
	t.Helper()
	m, err := s.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return m.Sum("sluice_request_total")
}

// newGuide returns a page's blocks for this folder, in a directory with the CA of a gateway. Its
// kubeconfig leads to the apiserver.
func newGuide(t *testing.T, page string, plane *harness.ControlPlane, s *harness.Sluice) *harness.Guide {
	t.Helper()
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	g := harness.NewGuide(t, page, "test/clients", kubeconfig, "HOME="+home, "SLUICE="+s.URL, "PROXY="+s.Proxy)
	if err := os.WriteFile(kubeconfig, []byte(contentOf(t, plane.Kubeconfig("admin"))), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Write("ca.crt", contentOf(t, filepath.Join(s.Dir, "ca.crt")))
	return g
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const clientsPage = "docs/clients.md"

// TestClientsLeadToSluiceAndBack runs what docs/clients.md and the README show.
func TestClientsLeadToSluiceAndBack(t *testing.T) {
	s := startProxy(t)
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *harness.Sluice)
	}{
		{"CA", findCA},
		{"kubectl", pointKubectl},
		{"controller", pointController},
		{"site", startSite},
		{"ArgoCD", pointArgo},
		{"Prometheus", pointPrometheus},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, s) })
	}
	t.Run("README", tryOut)
}

// findCA reads the CA from the Secret that sluice certificate prints.
func findCA(t *testing.T, s *harness.Sluice) {
	g := newGuide(t, clientsPage, apiserver, s)
	g.Shell("kubectl create namespace sluice && sluice certificate | kubectl apply -f -")
	g.Run("ca")
	g.Shell("cmp ca.crt ~/.local/state/sluice/sluice-ca/ca.crt")
	g.Shell("kubectl delete namespace sluice --wait=false")
}

func pointKubectl(t *testing.T, s *harness.Sluice) {
	g := newGuide(t, clientsPage, apiserver, s)
	direct := g.Commands("kubeconfig")
	there, get, back, byProxy := direct[0], direct[1], direct[2], g.Commands("kubeconfig-proxy")[0]
	for _, step := range []struct {
		command string
		through bool
	}{{there, true}, {back, false}, {byProxy, true}, {back, false}} {
		g.Shell(step.command)
		before := asked(t, s)
		g.Shell(get)
		if through := asked(t, s) > before; through != step.through {
			t.Errorf("after %s requests reach Sluice: %v", step.command, through)
		}
	}
}

// tryOut runs the commands of the README, with a free port for each that they name.
func tryOut(t *testing.T) {
	g := newGuide(t, "README.md", apiserver, sluice)
	start, use := g.Commands("start"), g.Commands("use")
	if len(start) != 3 || start[0] != "make build\n" || len(use) != 3 {
		t.Fatalf("commands %q and %q", start, use)
	}
	g.Shell(start[1])
	url, admin := g.Serve(strings.TrimSpace(start[2]) + " --listen 127.0.0.1:0")
	ports := strings.NewReplacer("https://127.0.0.1:8443", url, "http://127.0.0.1:9443", admin)
	for i, want := range []string{"", "No resources found", `source="`} {
		command := use[i]
		if command == ports.Replace(command) && i != 1 {
			t.Errorf("%s: it has no address", command)
		}
		if out := g.Shell(ports.Replace(command)); !strings.Contains(out, want) {
			t.Errorf("%s: no %s in\n%s", command, want, out)
		}
	}
}
