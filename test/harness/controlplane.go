package harness

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Options say how to start a control plane. The zero value is one without controllers, in a
// directory of its own that Stop removes.
type Options struct {
	// Dir holds everything of the control plane; empty means a new one. One that is given is kept.
	Dir string
	// Port of the apiserver; 0 means a free one.
	Port string
	// Controllers runs the kube-controller-manager too. Without it namespaces get no service
	// accounts, nothing is collected as garbage, and pods may name nodes and owners that do not exist.
	Controllers bool
	// Sample runs the sample-apiserver too, behind the aggregator: wardle.example.com, with flunders
	// in namespaces (v1alpha1, v1beta1) and fischers of the cluster (v1alpha1).
	Sample bool
	// Flags are handed on to kube-apiserver.
	Flags []string
	// Cancel, when closed, gives up a start that is under way; nil never does.
	Cancel <-chan struct{}
}

// ControlPlane is a running apiserver with its etcd. Its methods may be used concurrently, but Kill,
// Stop and Restart are for one goroutine at a time.
type ControlPlane struct {
	// Dir holds credentials and logs; see test/controlplane.
	Dir string
	// URL of the apiserver. A restart does not change it.
	URL string

	opts    Options
	binary  string
	ownsDir bool
	proc    *process

	mu   sync.Mutex // guards raws
	raws map[string]*RawClient
}

// Start runs a control plane for one test and stops it when the test ends. If the test has failed,
// the ends of the logs are shown.
func Start(t testing.TB, opts ...Options) *ControlPlane {
	t.Helper()
	c, err := StartMain(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		c.Stop()
	})
	return c
}

// StartMain runs a control plane for a whole package, from TestMain, which must call Stop.
func StartMain(opts ...Options) (*ControlPlane, error) {
	c := &ControlPlane{raws: make(map[string]*RawClient)}
	if len(opts) > 0 {
		c.opts = opts[0]
	}
	var err error
	if c.binary, err = Binary("controlplane"); err != nil {
		return nil, err
	}
	if err := c.makeDir(); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.Logs())
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *ControlPlane) makeDir() error {
	if c.Dir = c.opts.Dir; c.Dir != "" {
		return nil
	}
	c.ownsDir = true
	var err error
	c.Dir, err = os.MkdirTemp("", "controlplane-")
	return err
}

// start runs the binary, on the port that it had before if there was one.
func (c *ControlPlane) start() error {
	args := []string{"--dir=" + c.Dir, "--port=" + c.port()}
	if c.opts.Controllers {
		args = append(args, "--controllers")
	}
	if c.opts.Sample {
		args = append(args, "--sample")
	}
	p, line, err := startProcess(c.binary, append(append(args, "--"), c.opts.Flags...), nil, c.opts.Cancel)
	if err != nil {
		return err
	}
	c.proc = p
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[0] != "ready" {
		return fmt.Errorf("controlplane said %q", line)
	}
	c.URL = fields[1]
	return nil
}

func (c *ControlPlane) port() string {
	if u, err := url.Parse(c.URL); err == nil && u.Port() != "" {
		return u.Port()
	}
	if c.opts.Port != "" {
		return c.opts.Port
	}
	return "0"
}

// Kill ends the control plane as a crash would (kill -9) and returns when it is gone.
func (c *ControlPlane) Kill() {
	c.proc.kill()
	c.closeIdle()
}

// Done is closed when the control plane's process has ended.
func (c *ControlPlane) Done() <-chan struct{} { return c.proc.done }

// Signal sends a signal to the control plane; SIGSTOP makes it hang, SIGCONT go on.
func (c *ControlPlane) Signal(s os.Signal) error { return c.proc.signal(s) }

// Restart starts the control plane again on the same directory and port, after stopping it in an
// orderly way if it still runs. Data, certificates and tokens are as before.
func (c *ControlPlane) Restart(t testing.TB) {
	t.Helper()
	c.proc.stop()
	c.closeIdle()
	if err := c.start(); err != nil {
		t.Fatalf("restart: %v\n%s", err, c.Logs())
	}
}

// Stop ends the control plane and removes its directory, unless that was given.
func (c *ControlPlane) Stop() error {
	var err error
	if c.proc != nil {
		err = c.proc.stop()
	}
	c.closeIdle()
	if c.ownsDir {
		err = errors.Join(err, os.RemoveAll(c.Dir))
	}
	return err
}

func (c *ControlPlane) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.raws {
		r.Close()
	}
}

// Kubeconfig is the path of a user's kubeconfig.
func (c *ControlPlane) Kubeconfig(user string) string {
	return filepath.Join(c.Dir, user+".kubeconfig")
}
