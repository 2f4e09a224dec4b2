package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// daemon is a program of the node. What still runs when the sandbox ends, ends with it.
type daemon struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of its end; valid after done
}

// start starts a program whose output is appended to a file. It replaces one of the same name, which has
// ended.
func (n *Node) start(t *testing.T, name, program string, args ...string) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(n.Dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d := &daemon{name: name, cmd: exec.Command(program, args...), done: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(d.done)
		d.err = d.cmd.Wait()
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
