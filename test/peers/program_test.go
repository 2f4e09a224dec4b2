package peers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	buildLimit  = time.Hour // k9s took 40 minutes with an empty build cache, on a busy machine
	answerLimit = 3 * time.Minute
	stopLimit   = 20 * time.Second
)

// program is a running peer.
type program struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // of its output
	errors bytes.Buffer
}

// goProgram returns a function that builds the program in a peer's folder.
func goProgram(folder string) func(*testing.T) string {
	return func(t *testing.T) string { return build(t, folder, ".") }
}

// ofModule returns a function that builds the program that a version of a Go module is.
func ofModule(module, version string) func(*testing.T) string {
	return func(t *testing.T) string {
		dir := t.TempDir()
		file := fmt.Sprintf("module peer\n\ngo 1.26.0\n\nrequire %s %s\n", module, version)
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		return build(t, dir, "-mod=mod", module) // which finds all other modules
	}
}

// build builds a package from a module, and returns the path of the program.
func build(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer")
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-o", path}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build of %q: %v\n%s", args, err, out)
	}
	t.Logf("built in %s", time.Since(start).Round(time.Second))
	return path
}

// start starts a program, which ends with its input or a signal, and is killed with this process.
func start(t *testing.T, command ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(command[0], command[1:]...), lines: make(chan string, 1)}
	p.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	p.cmd.Stderr = &p.errors
	in, err := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go p.read(out)
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			end := p.errors.Bytes()
			t.Logf("%s:\n%s", command[0], end[max(0, len(end)-4<<10):])
		}
	})
	return p
}

// read passes on the lines of the output.
func (p *program) read(out io.Reader) {
	defer close(p.lines)
	in := bufio.NewScanner(out)
	in.Buffer(nil, math.MaxInt) // a line has all objects
	for in.Scan() {
		p.lines <- in.Text()
	}
}

// ask sends an empty line, and returns the line with which the program answers.
func (p *program) ask() (string, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return "", err
	}
	select {
	case line, running := <-p.lines:
		if !running {
			return "", errors.New("the program has ended")
		}
		return line, nil
	case <-time.After(answerLimit):
		return "", fmt.Errorf("no answer within %s", answerLimit)
	}
}

// stop ends the program and waits for it.
func (p *program) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended with its input
	kill := time.AfterFunc(stopLimit, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.lines { // until the output ends, as Wait requires
	}
	_ = p.cmd.Wait() // the signal is an error
}

// get returns the body at a URL on this machine.
func get(url string) (string, error) {
	client := http.Client{Timeout: answerLimit}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}
