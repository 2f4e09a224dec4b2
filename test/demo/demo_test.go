package main

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/test/harness"
)

// asDemo makes the test binary run as the demo, with the race detector.
const asDemo = "SLUICE_TEST_AS_DEMO"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// running is a demo process in the root of the repository.
type running struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner // stdout
	stderr strings.Builder
	dir    string // holds the demo's own
}

func startDemo(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{dir: t.TempDir()}
	r.cmd = exec.Command("/proc/self/exe", append([]string{"--pods=40"}, args...)...)
	r.cmd.Dir = harness.Path(t, ".")
	r.cmd.Env = append(os.Environ(), asDemo+"=1", "TMPDIR="+r.dir)
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewScanner(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // it has ended already, unless the test failed
	return r
}

// line returns the next line that starts with the prefix.
func (r *running) line(t *testing.T, prefix string) string {
	t.Helper()
	for r.out.Scan() {
		if strings.HasPrefix(r.out.Text(), prefix) {
			return r.out.Text()
		}
	}
	t.Fatalf("the demo ended before it said %q: %s", prefix, &r.stderr)
	return ""
}

// end waits until the demo exits without error and checks that it left nothing behind.
func (r *running) end(t *testing.T) {
	t.Helper()
	for r.out.Scan() { // to the last line
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &r.stderr)
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %q, %v", left, err)
	}
	harness.Eventually(t, "its processes end", func() error { // those that are killed need a moment to end
		if left := processesWith(t, r.dir); len(left) > 0 {
			return fmt.Errorf("%q are left", left)
		}
		return nil
	})
}

// processesWith returns the command lines that contain the text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), text) { // others may end meanwhile
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// shell runs a command line as a user would.
func (r *running) shell(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = r.cmd.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

func TestPrintedCommandsWorkAndSignalStopsDemo(t *testing.T) {
	t.Parallel()
	r := startDemo(t)
	enter := strings.TrimSpace(r.line(t, "  . ")) + "\n"
	get := r.line(t, "  kubectl get pods -A")
	harness.Eventually(t, get+" is served from the cache", func() error { // on a loaded machine a proof may be late
		if got := r.shell(t, enter+strings.TrimSpace(get)+" -v=8"); !strings.Contains(got, "Running") || !strings.Contains(got, "Sluice-Source: cache; ") {
			return fmt.Errorf("%.2000s", got)
		}
		return nil
	})
	for _, row := range []struct{ prefix, suffix, want string }{
		{"  kubectl label pods", "", " labeled"},
		{"  kubectl get pods -A --kubeconfig $DIRECT", "", "Running"},
		{"  curl -sD", "", "sluice-source: "},
		{"  curl -sN", " | grep -m 1 initial-events-end", "BOOKMARK"},
		{"  curl -s ", "", "cache-sync/pods.v1 ok"},
		{"  curl -s ", "", "sluice_build_info"},
	} {
		command := r.line(t, row.prefix) + row.suffix
		if got := r.shell(t, enter+command); !strings.Contains(got, row.want) {
			t.Errorf("%s: no %q in\n%s", command, row.want, got)
		}
	}
	// One watch for each of the three resources, of APIServices and of CRDs.
	harness.Eventually(t, "50 watches are open at Sluice and 5 at the apiserver", func() error {
		if row := strings.Fields(r.line(t, "open watches")); !slices.Equal(row[2:], []string{"50", "5"}) {
			return fmt.Errorf("%v", row)
		}
		return nil
	})
	for _, row := range []string{"CPU for a list of all pods", "memory"} {
		fields := strings.Fields(r.line(t, row))
		if apiserver := fields[len(fields)-2]; strings.HasPrefix(apiserver, "0") {
			t.Errorf("%q: nothing at the apiserver", fields)
		}
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.end(t)
}

// The drawing shows what the commands printed.
func TestRecordDrawsCommandsAndEndsDemo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.svg")
	r := startDemo(t, "--record="+file)
	r.end(t)
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(recorded, ">$ make demo<", "Starting Sluice", "CPU for a list of all pods", "Running", "nightly-",
		"content-encoding: ", "sluice-source: cache") {
		if !strings.Contains(shown(svg), want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil || len(svg) > 30_000 {
		t.Errorf("%d bytes, %v", len(svg), err)
	}
}

// shown returns the text of a drawing as a reader sees it.
func shown(svg []byte) string {
	return strings.ReplaceAll(html.UnescapeString(string(svg)), "\u00a0", " ")
}

func TestDrawingShowsTextAsItIs(t *testing.T) {
	const text = `$ echo "<none>  &amp;"`
	if svg := []byte(draw(text)); !strings.Contains(shown(svg), text) || xml.Unmarshal(svg, new(struct{})) != nil {
		t.Errorf("%s", svg)
	}
}

// loads is in a drawing that runs programs or has parts elsewhere.
var loads = regexp.MustCompile(`(?i)<script|href|url\(|@import|\son\w+=`)

// docs/demo.svg is drawn anew when the commands change: make demo FLAGS='--record docs/demo.svg'.
func TestDrawingInTheDocumentsIsCurrent(t *testing.T) {
	svg := harness.Read(t, "docs/demo.svg")
	for _, command := range recorded {
		if !strings.Contains(shown([]byte(svg)), ">$ "+command+"<") {
			t.Errorf("it does not show %s", command)
		}
	}
	if found := loads.FindString(svg); found != "" {
		t.Errorf("it has %q", found)
	}
}

func TestSignalDuringStartStopsDemo(t *testing.T) {
	t.Parallel()
	r := startDemo(t)
	harness.Eventually(t, "the control plane starts", func() error {
		if len(processesWith(t, r.dir)) == 0 {
			return errors.New("there is no process")
		}
		return nil
	})
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for r.out.Scan() {
		if strings.HasPrefix(r.out.Text(), "Starting Sluice") {
			t.Error("it waited for the control plane")
		}
	}
	r.end(t)
}
