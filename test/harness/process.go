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
	// readyLimit is far above what a loaded machine with the race detector needs.
	readyLimit = 3 * time.Minute
	// stopLimit is what an orderly stop may take before it becomes a kill.
	stopLimit = 15 * time.Second
)

// process is a child that says in one line on its stdout when it is ready.
type process struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed by the goroutine that waits for the child
	err    error         // how it ended; to be read after done
	first  *firstLine
	stderr *bytes.Buffer // to be read after done
}

// startProcess starts the program and returns it with its first line, unless cancel is closed before
// that comes. What it writes to stderr goes to log, and if that is nil into the error of a bad end.
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
	// In a process group of its own, no child is told to end but by us: not by a terminal's Ctrl-C.
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

// run starts the child and waits for it on one thread: the kernel kills the child when the thread
// that forked it ends, not the process.
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
		return "", fmt.Errorf("%s ended at once: %w: %s", p.cmd.Path, p.err, p.stderr)
	case <-cancel:
		return "", fmt.Errorf("start of %s: %w", p.cmd.Path, context.Canceled)
	case <-limit.C:
		return "", fmt.Errorf("%s is not ready after %s", p.cmd.Path, readyLimit)
	}
}

func (p *process) signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the child at once and waits until it is gone. A child that is gone already is fine.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop ends the child in an orderly way; one that takes too long is killed, which is an error.
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

// firstLine is a writer that sends the first line written to it and forgets the rest.
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
