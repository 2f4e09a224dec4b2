package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyLimit is enough for a loaded machine with the race detector.
	readyLimit = 3 * time.Minute
	// stopLimit is how long a stop may take before the process is killed. A gateway may take 15
	// seconds by its default configuration (shutdown.grace, and what follows), and more on a loaded
	// machine.
	stopLimit = time.Minute
)

// process is a child process that prints one line to stdout when it is ready.
type process struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed by the goroutine that waits for the child
	err    error         // of Wait; valid after done
	first  *firstLine
	stderr *bytes.Buffer // valid after done
}

// startProcess starts a program and returns it with its first line of output, or an error when cancel
// is closed before. Its stderr goes to log or, if that is nil, into the error of an early exit.
func startProcess(path string, args []string, log io.Writer, cancel <-chan struct{}) (*process, string, error) {
	p := &process{
		cmd:    exec.Command(path, args...),
		done:   make(chan struct{}),
		first:  &firstLine{line: make(chan string, 1)},
		stderr: new(bytes.Buffer),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.first, p.stderr
	if log != nil {
		p.cmd.Stderr = log
	}
	// A separate process group does not receive the SIGINT of a terminal's Ctrl-C.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, "", err
	}
	line, err := p.ready(cancel)
	if err != nil {
		p.kill()
		return nil, "", err
	}
	return p, line, nil
}

// run starts the child and waits for it on one locked thread, because Pdeathsig kills the child when
// the thread that forked it ends.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) ready(cancel <-chan struct{}) (string, error) {
	limit := time.NewTimer(readyLimit)
	defer limit.Stop()
	select {
	case line := <-p.first.line:
		return line, nil
	case <-p.done:
		return "", fmt.Errorf("%s exited: %w: %s", p.cmd.Path, p.err, p.stderr)
	case <-cancel:
		return "", fmt.Errorf("start of %s: %w", p.cmd.Path, context.Canceled)
	case <-limit.C:
		return "", fmt.Errorf("%s is not ready after %s", p.cmd.Path, readyLimit)
	}
}

func (p *process) signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// kill kills the child and waits until it has ended. The child may have ended before.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop sends SIGTERM and waits for the child. After stopLimit it kills the child and returns an error.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-p.done:
		return p.err
	case <-limit.C:
		p.kill()
		return fmt.Errorf("%s did not stop within %s", p.cmd.Path, stopLimit)
	}
}

// firstLine is a writer that sends its first line to a channel and discards the rest.
type firstLine struct {
	once sync.Once
	text strings.Builder
	line chan string
}

func (f *firstLine) Write(b []byte) (int, error) {
	head, _, whole := bytes.Cut(b, []byte("\n"))
	f.text.Write(head)
	if whole {
		f.once.Do(func() { f.line <- f.text.String() })
	}
	return len(b), nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }
