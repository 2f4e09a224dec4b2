package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// SluiceOptions say how to start a Sluice. The zero value is one on free ports, with the race
// detector, that takes the control plane's client certificates.
type SluiceOptions struct {
	// Binary in bin; empty means sluice-race.
	Binary string
	// Dir holds certificates and the log; empty means a new one. One that is given must be there.
	Dir string
	// Config is the text of a configuration file; empty means none.
	Config string
	// Flags are added to those that the harness gives.
	Flags []string
}

// Sluice is a running gateway in front of a control plane.
type Sluice struct {
	URL   string // of the API
	Admin string // of the admin listener
	Dir   string // certificates and the log

	plane *ControlPlane
	opts  SluiceOptions
	proc  *process
	log   *os.File

	mu   sync.Mutex // guards raws
	raws map[string]*RawClient
}

// StartSluice runs a gateway for one test and stops it when the test ends. A data race in it fails
// the test, and if the test has failed, the end of its log is shown.
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

// StartSluiceMain runs a gateway for a whole package, from TestMain, which must call Stop and fail
// with its error.
func (c *ControlPlane) StartSluiceMain(opts ...SluiceOptions) (*Sluice, error) {
	s := &Sluice{plane: c, raws: make(map[string]*RawClient)}
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
	args := []string{
		"serve", "--kubeconfig=" + s.plane.Kubeconfig("sluice"), "--listen=" + listen, "--admin-listen=" + admin,
		"--cert-dir=" + s.Dir, "--client-ca-file=" + filepath.Join(s.plane.Dir, "client-ca.crt"), "--profiling", "--debug-headers",
	}
	if s.opts.Config != "" {
		path := filepath.Join(s.Dir, "config.yaml")
		if err := os.WriteFile(path, []byte(s.opts.Config), 0o600); err != nil {
			return err
		}
		args = append(args, "--config="+path)
	}
	p, line, err := startProcess(binary, append(args, s.opts.Flags...), s.log, nil)
	if err != nil {
		return err
	}
	s.proc = p
	if _, err := fmt.Sscanf(line, "ready %s admin %s", &s.URL, &s.Admin); err != nil {
		return fmt.Errorf("sluice said %q", line)
	}
	return nil
}

// Stop ends the gateway in an orderly way. It returns an error if that fails or if the race detector
// had something to say.
func (s *Sluice) Stop() error {
	s.closeIdle()
	err := s.proc.stop()
	if log := s.Log(); strings.Contains(log, "DATA RACE") {
		return fmt.Errorf("sluice has a data race:\n%s", log)
	}
	if err != nil {
		return fmt.Errorf("sluice: %w", err)
	}
	return nil
}

// Terminate asks the gateway to end, as an orchestrator does, and returns at once.
func (s *Sluice) Terminate() error { return s.proc.signal(syscall.SIGTERM) }

// Done is closed when the process has ended.
func (s *Sluice) Done() <-chan struct{} { return s.proc.done }

// Restart stops the gateway and starts another on the same addresses.
func (s *Sluice) Restart(t testing.TB) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.start(strings.TrimPrefix(s.URL, "https://"), strings.TrimPrefix(s.Admin, "http://")); err != nil {
		t.Fatal(err)
	}
}

// Log is the end of the gateway's log; more of it if it holds a data race.
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

// RESTConfig is a user's configuration for the gateway.
func (s *Sluice) RESTConfig(user string) *rest.Config {
	cfg := s.plane.RESTConfig(user)
	cfg.Host = s.URL
	cfg.TLSClientConfig.CAData = nil
	cfg.TLSClientConfig.CAFile = filepath.Join(s.Dir, "ca.crt")
	return cfg
}

// Client is a typed client of the gateway that speaks Protobuf.
func (s *Sluice) Client(user string) kubernetes.Interface {
	cfg := s.RESTConfig(user)
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfigOrDie(cfg)
}

// Raw is the user's Raw to the gateway, shared by all who ask and closed by Stop.
func (s *Sluice) Raw(user string) *RawClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raws[user] == nil {
		raw, err := NewRawClient(s.RESTConfig(user))
		if err != nil {
			panic(err) // as RESTConfig does for a user that does not exist
		}
		s.raws[user] = raw
	}
	return s.raws[user]
}

func (s *Sluice) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.raws {
		r.Close()
	}
}

// Kubeconfig writes a kubeconfig of the user for the gateway and returns its path.
func (s *Sluice) Kubeconfig(t testing.TB, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), user+".kubeconfig")
	if err := s.WriteKubeconfig(path, user); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteKubeconfig writes a kubeconfig of the user for the gateway.
func (s *Sluice) WriteKubeconfig(path, user string) error {
	config, err := clientcmd.LoadFromFile(s.plane.Kubeconfig(user))
	if err != nil {
		return err
	}
	for name := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthority: filepath.Join(s.Dir, "ca.crt")}
	}
	return clientcmd.WriteToFile(*config, path)
}

// WaitForCacheSync makes the gateway cache a resource and waits until it does. The path is that of the whole
// collection; name is the resource's in the gateway's readiness report, such as "pods.v1".
func (s *Sluice) WaitForCacheSync(t testing.TB, path, name string) {
	t.Helper()
	Eventually(t, name+" is cached", func() error { return s.CacheSynced(t.Context(), path, name) })
}

// CacheSynced makes the gateway cache a resource, as WaitForCacheSync does, and returns why it does not do so yet. It
// has to be called again and again: a resource may have been found absent when it was young.
func (s *Sluice) CacheSynced(ctx context.Context, path, name string) error {
	if _, err := s.Raw("admin").Get(ctx, path+"?resourceVersion=0", "application/json"); err != nil {
		return err
	}
	report, err := s.AdminGet("/readyz?verbose")
	if err == nil && !strings.Contains(report, "cache-sync/"+name+" ok") {
		err = fmt.Errorf("not in the report:\n%s", report)
	}
	return err
}

// AdminGet returns what the admin listener answers.
func (s *Sluice) AdminGet(path string) (string, error) {
	resp, err := http.Get(s.Admin + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
