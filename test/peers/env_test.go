package peers

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

const (
	namespace    = "peers"   // of the objects that change
	samples      = "samples" // of pods that do not
	kubectlLimit = 3 * time.Minute
)

// plane is the control plane of all peers.
var plane *harness.ControlPlane

func TestMain(m *testing.M) {
	harness.Main(m, 1, func(m *testing.M) (int, error) {
		if os.Getenv("PEERS") == "" {
			return m.Run(), nil
		}
		var err error
		if plane, err = harness.StartMain(); err != nil {
			return 1, err
		}
		defer plane.Stop()
		if err := fill(); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// fill makes the namespaces, and pods that cost something to read.
func fill() error {
	for _, name := range []string{namespace, samples} {
		if _, err := kubectl("create", "namespace", name); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return plane.CreatePods(ctx, harness.Pods(2000, samples, 1))
}

// kubectl runs kubectl at the apiserver and returns its output.
func kubectl(args ...string) (string, error) {
	path, err := harness.Binary("kubectl")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), kubectlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"--kubeconfig", plane.Kubeconfig("admin")}, args...)...)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, &errors)
	}
	return string(out), err
}

// env is what a peer runs in: one way to the apiserver that is counted, and one through a Sluice of its own, whose
// way to the apiserver is counted too.
type env struct {
	sluice   *harness.Sluice
	direct   *wire.Link // of the peer
	upstream *wire.Link // of Sluice

	directly, through string // kubeconfigs
}

// newEnv starts a Sluice with a configuration file, for the bearer of a token; "" means no file, and the administrator.
func newEnv(t *testing.T, config, token string) *env {
	t.Helper()
	e := &env{}
	var direct, upstream *rest.Config
	e.direct, direct = wire.StartLink(t, plane.RESTConfig("admin"))
	e.upstream, upstream = wire.StartLink(t, plane.RESTConfig("sluice"))
	e.sluice = plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: config, Upstream: upstream})
	e.directly, e.through = kubeconfig(t, direct, token), kubeconfig(t, e.sluice.RESTConfig("admin"), token)
	return e
}

func kubeconfig(t *testing.T, cfg *rest.Config, token string) (path string) {
	t.Helper()
	cfg.BearerToken = cmp.Or(token, cfg.BearerToken)
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := harness.WriteKubeconfig(path, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}

// idle waits until Sluice has counted the requests of a peer that was stopped: a watch counts when it ends.
func (e *env) idle(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "no request runs", func() error {
		metrics, err := e.sluice.Metrics()
		if err == nil && metrics.Sum("sluice_current_inflight_requests") > 0 {
			err = fmt.Errorf("%v requests", metrics.Samples("sluice_current_inflight_requests"))
		}
		return err
	})
}
