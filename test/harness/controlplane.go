package harness

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Options configures a control plane. The zero value means one without controllers, in a temporary
// directory.
type Options struct {
	// Dir is the directory of data, credentials and logs; empty means a temporary one. Stop deletes
	// only a temporary directory.
	Dir string
	// Address is the IP address of the apiserver; empty means 127.0.0.1, which nodes and pods cannot reach.
	Address string
	// Port is the port of the apiserver; empty means a free one.
	Port string
	// Controllers also runs the kube-controller-manager. Without it namespaces get no service
	// accounts, there is no garbage collection, and nodes and owners of pods need not exist.
	Controllers bool
	// Sample also runs the sample-apiserver behind the aggregator. It serves wardle.example.com:
	// namespaced flunders (v1alpha1, v1beta1) and cluster-scoped fischers (v1alpha1).
	Sample bool
	// Flags are additional flags of kube-apiserver.
	Flags []string
	// Cancel aborts a start when it is closed; may be nil.
	Cancel <-chan struct{}
}

// ControlPlane is a running apiserver with its etcd. Its methods can be called concurrently, except
// Kill, Stop and Restart.
type ControlPlane struct {
	// Dir contains credentials and logs; see test/controlplane.
	Dir string
	// URL is the address of the apiserver. A restart does not change it.
	URL string

	opts    Options
	binary  string
	ownsDir bool
	proc    *process
	// reserved is the port while the process is down.
	reserved reservation

	*clients
}

// Start starts a control plane and stops it when the test ends. If the test has failed, it logs the
// last lines of the logs.
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

// StartMain starts a control plane for all tests of a package, from TestMain, which must call Stop.
func StartMain(opts ...Options) (*ControlPlane, error) {
	c := &ControlPlane{}
	c.clients = newClients(c.RESTConfig)
	if len(opts) > 0 {
		c.opts = opts[0]
	}
	binary, flags := fromEnvironment()
	c.opts.Flags = slices.Concat(c.opts.Flags, flags) // the last value of a feature gate counts
	var err error
	if c.binary, err = Binary(binary); err != nil {
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

// fromEnvironment returns the program of the control plane and flags of kube-apiserver that
// make test-versions sets, so that all tests of a package run with another apiserver.
func fromEnvironment() (binary string, flags []string) {
	binary = cmp.Or(os.Getenv("CONTROLPLANE"), "controlplane")
	return binary, strings.Fields(os.Getenv("APISERVER_FLAGS"))
}

// Lacks reports whether make test-versions runs the tests with an apiserver that lacks something
// that kube-apiserver has by default in the release of the go.mod.
func Lacks(feature string) bool {
	return slices.Contains(strings.Fields(os.Getenv("APISERVER_LACKS")), feature)
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

// start starts the binary, after a restart on the same port.
func (c *ControlPlane) start() error {
	args := []string{"--dir=" + c.Dir, "--port=" + c.port()}
	if c.opts.Address != "" {
		args = append(args, "--address="+c.opts.Address)
	}
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
		return fmt.Errorf("controlplane: unexpected line %q", line)
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

// Kill kills the control plane (SIGKILL) and waits until it has ended.
func (c *ControlPlane) Kill() {
	c.proc.kill()
	c.reserved.reserve(c.URL)
	c.closeIdle()
}

// PID returns the process ID of the control plane.
func (c *ControlPlane) PID() int { return c.proc.pid() }

// Done returns a channel that is closed when the process of the control plane has ended.
func (c *ControlPlane) Done() <-chan struct{} { return c.proc.done }

// Signal sends a signal to the control plane: SIGSTOP suspends it, SIGCONT resumes it.
func (c *ControlPlane) Signal(s os.Signal) error { return c.proc.signal(s) }

// Restart stops the control plane, if it runs, and starts it again with the same data, certificates,
// tokens and port.
func (c *ControlPlane) Restart(t testing.TB) {
	t.Helper()
	c.proc.stop()
	c.reserved.reserve(c.URL)
	defer c.reserved.release()
	c.closeIdle()
	if err := c.start(); err != nil {
		t.Fatalf("restart: %v\n%s", err, c.Logs())
	}
}

// Stop stops the control plane and deletes its directory if that is temporary.
func (c *ControlPlane) Stop() error {
	var err error
	if c.proc != nil {
		err = c.proc.stop()
	}
	c.reserved.release()
	c.closeIdle()
	if c.ownsDir {
		err = errors.Join(err, os.RemoveAll(c.Dir))
	}
	return err
}

// Kubeconfig returns the path of a user's kubeconfig.
func (c *ControlPlane) Kubeconfig(user string) string {
	return filepath.Join(c.Dir, user+".kubeconfig")
}
