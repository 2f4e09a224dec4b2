package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// helm runs bin/helm as admin at the apiserver, for the release sluice.
func (n *Node) helm(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path(t, "bin", "helm"), args...)
	home := filepath.Join(scratch, "helm")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.Kubeconfig("admin"), "HELM_NAMESPACE="+edgeNamespace,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// The chart is valid, serves clients from the cache, keeps informers right and its CA while it is upgraded,
// and leaves nothing behind.
func (n *Node) chartServesClients(t *testing.T) {
	before := n.objects(t)
	chart := path(t, "deploy", "helm", "sluice")
	values := []string{"--set=podDisruptionBudget.enabled=true", "--set=flowSchema.enabled=true", "--set=config.cache.maxBytes=400000000"}
	e := edge{Node: n, k: newKubectl(t, n.Kubeconfig("admin")), guide: n.guide(t)}
	e.k.run("create", "namespace", edgeNamespace)
	rendered := filepath.Join(t.TempDir(), "rendered.yaml")
	if err := os.WriteFile(rendered, []byte(n.helm(t, append([]string{"template", "sluice", chart}, values...)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	e.k.run("apply", "--server-side", "--dry-run=server", "--validate=strict", "--namespace="+edgeNamespace, "--filename="+rendered)

	n.operators(t, "apply")
	e.guide.Run("chart-install")
	e.ca = n.caOf(t)
	gateways := e.waitReady(t)
	t.Run("Client", func(t *testing.T) { e.checkClient(t, gateways) })
	t.Run("Plugin", func(t *testing.T) { e.pluginReachesPods(t, "admin-cert") })
	t.Run("Upgrade", func(t *testing.T) {
		e.rollKeepsInformersRight(t, func() {
			n.helm(t, append([]string{"upgrade", "sluice", chart, "--reuse-values", "--wait", "--timeout=120s"}, values...)...)
		})
		if n.caOf(t) != e.ca {
			t.Error("the upgrade has changed the CA")
		}
	})
	t.Run("Proxy", e.proxyServesClients)
	t.Run("Rights", e.rightsCanBeFew)
	t.Run("Upstream", e.servesAnotherCluster)
	e.guide.Run("chart-off")
	n.operators(t, "delete")
	n.nothingLeft(t, before)
}

// caOf returns the CA that NOTES.txt of the chart names.
func (n *Node) caOf(t *testing.T) string {
	t.Helper()
	secret, err := n.Client("admin").CoreV1().Secrets(edgeNamespace).Get(t.Context(), "sluice-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["ca.crt"])
}
