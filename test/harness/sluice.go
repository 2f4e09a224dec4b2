package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
)

// SluiceOptions configures a Sluice. The zero value means free ports, the race detector, and the
// control plane's CA of client certificates.
type SluiceOptions struct {
	// Binary is the name of a program in bin; empty means sluice-race.
	Binary string
	// Dir is an existing directory for certificates and the log; empty means a temporary one.
	Dir string
	// Config is the content of a configuration file; empty means none.
	Config string
	// Flags are additional flags.
	Flags []string
	// Upstream is how the gateway reaches the apiserver; nil means directly, as the user sluice.
	Upstream *rest.Config
	// Memory is the limit of a cgroup of its own, in bytes, which needs root; 0 means none.
	Memory int64
	// Descriptors is the limit of open files; 0 means that of the test.
	Descriptors int
}

// Sluice is a running gateway in front of a control plane.
type Sluice struct {
	URL   string // of the API
	Admin string // of the admin listener
	Proxy string // URL of the explicit proxy, if Flags or Config have one
	Dir   string // certificates and the log

	controlPlane *ControlPlane
	opts         SluiceOptions
	proc         *process
	log          *os.File
	cgroup       string // its directory; empty without a limit of memory

	*clients
}

// StartSluice starts a gateway and stops it when the test ends. A data race fails the test. If the
// test has failed, it logs the end of the gateway's log.
func (c *ControlPlane) StartSluice(t testing.TB, opts ...SluiceOptions) *Sluice {
	t.Helper()
	s, err := c.StartSluiceMain(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
		os.RemoveAll(s.Dir)
	})
	return s
}

// StartSluiceMain starts a gateway for all tests of a package, from TestMain, which must call Stop and
// fail with its error.
func (c *ControlPlane) StartSluiceMain(opts ...SluiceOptions) (*Sluice, error) {
	s := &Sluice{controlPlane: c}
	s.clients = newClients(s.RESTConfig)
	if len(opts) > 0 {
		s.opts = opts[0]
	}
	if s.opts.Binary == "" {
		s.opts.Binary = "sluice-race"
	}
	var err error
	if s.Dir = s.opts.Dir; s.Dir == "" {
		if s.Dir, err = os.MkdirTemp("", "sluice-"); err != nil {
			return nil, err
		}
	}
	if s.log, err = os.Create(filepath.Join(s.Dir, "sluice.log")); err != nil {
		return nil, err
	}
	if err := s.start("127.0.0.1:0", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.Log())
	}
	return s, nil
}

func (s *Sluice) start(listen, admin string) error {
	binary, err := Binary(s.opts.Binary)
	if err != nil {
		return err
	}
	kubeconfig := s.controlPlane.Kubeconfig("sluice")
	if s.opts.Upstream != nil {
		kubeconfig = filepath.Join(s.Dir, "upstream.kubeconfig")
		if err := WriteKubeconfig(kubeconfig, s.opts.Upstream); err != nil {
			return err
		}
	}
	args := []string{
		"serve", "--kubeconfig=" + kubeconfig, "--listen=" + listen, "--admin-listen=" + admin,
		"--cert-dir=" + s.Dir, "--client-ca-file=" + filepath.Join(s.controlPlane.Dir, "client-ca.crt"), "--profiling", "--debug-headers",
	}
	if s.opts.Config != "" {
		path := filepath.Join(s.Dir, "config.yaml")
		if err := os.WriteFile(path, []byte(s.opts.Config), 0o600); err != nil {
			return err
		}
		args = append(args, "--config="+path)
	}
	args = append(args, s.opts.Flags...)
	if n := s.opts.Descriptors; n > 0 {
		binary, args = "/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, n), binary}, args...)
	}
	if s.opts.Memory > 0 {
		if s.cgroup, err = newCgroup(s.opts.Memory); err != nil {
			return err
		}
		enter := []string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(s.cgroup, "cgroup.procs"), binary}
		binary, args = "/bin/sh", append(enter, args...)
	}
	p, line, err := startProcess(binary, args, s.log, nil)
	if err != nil {
		return err
	}
	s.proc = p
	if _, err := fmt.Sscanf(line, "ready %s admin %s", &s.URL, &s.Admin); err != nil {
		return fmt.Errorf("sluice: unexpected line %q", line)
	}
	_, s.Proxy, _ = strings.Cut(line, " proxy ")
	return nil
}

// Stop stops the gateway. It returns an error if that fails or if the race detector has reported a
// data race.
func (s *Sluice) Stop() error {
	s.closeIdle()
	err := s.proc.stop()
	if s.cgroup != "" {
		err = errors.Join(err, os.Remove(s.cgroup))
	}
	if log := s.Log(); strings.Contains(log, "DATA RACE") {
		return fmt.Errorf("sluice has a data race:\n%s", log)
	}
	if err != nil {
		return fmt.Errorf("sluice: %w", err)
	}
	return nil
}

// Terminate sends SIGTERM and does not wait.
func (s *Sluice) Terminate() error { return s.proc.signal(syscall.SIGTERM) }

// PID returns the process ID of the gateway.
func (s *Sluice) PID() int { return s.proc.pid() }

// Done returns a channel that is closed when the process has ended.
func (s *Sluice) Done() <-chan struct{} { return s.proc.done }

// Restart stops the gateway and starts it again on the same addresses.
func (s *Sluice) Restart(t testing.TB) {
	t.Helper()
	if err := s.RestartMain(); err != nil {
		t.Fatal(err)
	}
}

// RestartMain is Restart without a test.
func (s *Sluice) RestartMain() error {
	if err := s.Stop(); err != nil {
		return err
	}
	var ports reservation
	ports.reserve(s.URL, s.Admin)
	defer ports.release()
	return s.start(strings.TrimPrefix(s.URL, "https://"), strings.TrimPrefix(s.Admin, "http://"))
}

// Log returns the last 16 KiB of the gateway's log, or those from a data race on.
func (s *Sluice) Log() string {
	const end = 16 << 10
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	from := max(len(text)-end, 0)
	if race := bytes.Index(text, []byte("DATA RACE")); race >= 0 {
		from = max(race-100, 0)
	}
	return string(text[from:min(from+end, len(text))])
}

// RESTConfig returns a user's client configuration for the gateway.
func (s *Sluice) RESTConfig(user string) *rest.Config {
	cfg := s.controlPlane.RESTConfig(user)
	cfg.Host = s.URL
	cfg.TLSClientConfig.CAData = nil
	cfg.TLSClientConfig.CAFile = filepath.Join(s.Dir, "ca.crt")
	return cfg
}

// Kubeconfig writes a user's kubeconfig for the gateway and returns its path.
func (s *Sluice) Kubeconfig(t testing.TB, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), user+".kubeconfig")
	if err := WriteKubeconfig(path, s.RESTConfig(user)); err != nil {
		t.Fatal(err)
	}
	return path
}

// WaitForCacheSync makes the gateway cache a resource and waits until the cache is in sync. path is the
// path of the collection in all namespaces; name is the resource's name in the verbose /readyz, such
// as "pods.v1".
func (s *Sluice) WaitForCacheSync(t testing.TB, path, name string) {
	t.Helper()
	Eventually(t, name+" is in sync", func() error { return s.CacheSynced(t.Context(), path, name) })
}

// CacheSynced makes the gateway cache a resource, as WaitForCacheSync does, and returns why the cache is
// not in sync, or nil. Callers must poll: a resource may have been absent when it was last discovered.
func (s *Sluice) CacheSynced(ctx context.Context, path, name string) error {
	if _, err := s.Raw("admin").Get(ctx, path+"?resourceVersion=0", "application/json"); err != nil {
		return err
	}
	report, err := s.AdminGet("/readyz?verbose")
	if err == nil && !strings.Contains(report, "cache-sync/"+name+" ok") {
		err = fmt.Errorf("%s is not in sync:\n%s", name, report)
	}
	return err
}

// AdminGet returns the body that the admin listener serves at path.
func (s *Sluice) AdminGet(path string) (string, error) {
	resp, err := http.Get(s.Admin + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
