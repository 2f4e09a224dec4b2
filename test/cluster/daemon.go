package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// logLines is the number of lines of a log that a failed test shows.
const logLines = 30

// daemon is a program of the node. What still runs when the sandbox ends, ends with it.
type daemon struct {
	name string
	log  string // the path of its output
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of its end; valid after done
}

// start starts a program whose output is appended to a file. It replaces one of the same name, which has
// ended.
func (n *Node) start(t *testing.T, name, program string, args ...string) {
	t.Helper()
	d := &daemon{name: name, log: filepath.Join(n.Dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	d.cmd = cmd
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(d.done)
		d.err = cmd.Wait()
	}()
	n.daemons[name] = d
}

// stop ends a program with SIGTERM.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("stop %s: %v", d.name, err)
	}
	<-d.done
}

func (d *daemon) ended() error {
	select {
	case <-d.done:
		return fmt.Errorf("%s has ended: %v", d.name, d.err)
	default:
		return nil
	}
}

func (d *daemon) tail() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}
