package peers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/test/harness"
)

// debianPython is the Python that has Debian's python3-kubernetes.
const debianPython = "/usr/bin/python3"

// stateMetricsOfAll starts kube-state-metrics with metrics of a custom resource, whose definition comes and goes.
func stateMetricsOfAll(t *testing.T, program, kubeconfig string) shows {
	return kubeStateMetrics(t, program, kubeconfig, "--custom-resource-state-config-file="+filepath.Join("testdata", "kube-state-metrics.yaml"))
}

func kubeStateMetrics(t *testing.T, program, kubeconfig string, args ...string) shows {
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	_, telemetry, _ := net.SplitHostPort(freeAddress(t))
	p := start(t, append([]string{program, "--kubeconfig=" + kubeconfig, "--host=" + host, "--port=" + port,
		"--telemetry-host=" + host, "--telemetry-port=" + telemetry, "--metric-labels-allowlist=*=[*]"}, args...)...)
	output := func() (string, error) {
		page, err := get("http://" + address + "/metrics")
		return sorted(page, "\n"), err
	}
	return shows{output, p.stop}
}

// answering returns a function that starts a program, by an interpreter if there is one, which answers what it has read.
func answering(interpreter ...string) func(t *testing.T, program, kubeconfig string) shows {
	return func(t *testing.T, program, kubeconfig string) shows {
		return answers(start(t, slices.Concat(interpreter, []string{program, kubeconfig})...))
	}
}

// sorted returns the parts of a text in order, as lines.
func sorted(text, by string) string {
	lines := strings.Split(text, by)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// answers is what a program shows that answers in lines.
func answers(p *program) shows {
	output := func() (string, error) {
		line, err := p.ask()
		return sorted(strings.TrimSpace(line), "\t"), err
	}
	return shows{output, p.stop}
}

// javascript installs the client that test/clients pins, and returns a program that uses its informers.
func javascript(t *testing.T) string {
	return filepath.Join(harness.InstallNode(t, filepath.Join("..", "clients", "node"), "javascript"), "objects.js")
}

func python(t *testing.T) string {
	if err := exec.CommandContext(t.Context(), debianPython, "-c", "import kubernetes").Run(); err != nil {
		t.Skip("python3-kubernetes is not installed")
	}
	return filepath.Join("python", "main.py")
}

// k9s starts k9s twice, since it shows one kind at a time: it loses keys that would turn it to another while it starts.
func k9s(t *testing.T, program, kubeconfig string) shows {
	services, pods := k9sView(t, program, kubeconfig, "services", namespace), k9sView(t, program, kubeconfig, "pods", namespace)
	output := func() (string, error) {
		above, err := services.output()
		if err != nil {
			return "", err
		}
		below, err := pods.output()
		return above + below, err
	}
	return shows{output, func() { services.stop(); pods.stop() }}
}

// age is the last column of a screen of k9s, which is as old as the screen.
var age = regexp.MustCompile(`(\d+[smhd])+ *│\n`)

// k9sView starts k9s with a view of a namespace in a terminal of its own, and shows the screen without its first line, which has the
// load of the cluster, and without ages.
func k9sView(t *testing.T, program, kubeconfig, view, namespace string) shows {
	t.Helper()
	dir := t.TempDir()
	tmux := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(dir, "socket")}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	stop := func() { _, _ = tmux("kill-server") } // it may have ended with k9s
	t.Cleanup(stop)
	if out, err := tmux("new-session", "-d", "-x", "160", "-y", "40", program, "--kubeconfig="+kubeconfig,
		"--namespace="+namespace, "--command="+view, "--headless", "--splashless", "--refresh=2"); err != nil {
		t.Fatal(out, err)
	}
	output := func() (string, error) {
		screen, err := tmux("capture-pane", "-p")
		if err == nil && !strings.Contains(screen, " "+view+"("+namespace+")[") {
			err = fmt.Errorf("no %s on the screen:\n%s", view, screen)
		}
		_, screen, _ = strings.Cut(screen, "\n")
		return age.ReplaceAllString(screen, "│\n"), err
	}
	return shows{output, stop}
}
