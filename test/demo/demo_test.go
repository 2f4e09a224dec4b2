package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	dir    string
}

func startDemo(t *testing.T, args ...string) *running {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{dir: filepath.Join(t.TempDir(), "demo")}
	r.cmd = exec.Command("/proc/self/exe", append([]string{"--dir=" + r.dir, "--pods=40", "--watchers=5"}, args...)...)
	r.cmd.Dir = root
	r.cmd.Env = append(os.Environ(), asDemo+"=1")
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
	if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", r.dir, err)
	}
	if left := processesWith(t, r.dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
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
	get := r.line(t, "  bin/kubectl --kubeconfig")
	if got := r.shell(t, get); !strings.Contains(got, "Running") {
		t.Errorf("%s:\n%s", get, got)
	}
	restart := r.line(t, "  bin/kubectl --kubeconfig "+filepath.Join(r.dir, "sluice-admin.kubeconfig")+" rollout restart")
	r.shell(t, restart)
	r.shell(t, strings.Replace(restart, " restart", " status --timeout=1m", 1))
	if list := r.line(t, "  curl"); !strings.Contains(list, "resourceVersion=0") {
		t.Errorf("no cached list but %s", list)
	}
	counters := r.line(t, "requests ")
	// One watch for each of the five resources, and one of APIServices.
	const watches = "watches 5 from 6 upstream"
	for range 20 { // the watchers may need more than a moment
		if strings.Contains(counters, watches) {
			break
		}
		counters = r.line(t, "requests ")
	}
	if !strings.Contains(counters, watches) {
		t.Errorf("the last line is %q, want %q in it", counters, watches)
	}
	if strings.Contains(counters, "apiserver 0 MB") {
		t.Errorf("counters are %q", counters)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.end(t)
}

func TestForEndsDemo(t *testing.T) {
	t.Parallel()
	r := startDemo(t, "--for=1s")
	r.line(t, "Sluice serves")
	r.end(t)
}

func TestSignalDuringStartStopsDemo(t *testing.T) {
	t.Parallel()
	r := startDemo(t)
	for len(processesWith(t, filepath.Join(r.dir, "controlplane"))) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	begin := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r.end(t)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
