package deploy

import (
	_ "embed" // the workloads
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

const (
	guide        = "docs/deploying.md"
	clientBlock  = "client-kustomization"
	sidecarBlock = "sidecar-kustomization"
)

// newGuide returns the blocks of the guide that need no node, with a kubeconfig, and a directory
// sluice that is the repository, as kustomizations of users have it.
func newGuide(t *testing.T, kubeconfig string) *harness.Guide {
	t.Helper()
	g := harness.NewGuide(t, guide, "test/deploy", kubeconfig)
	if err := os.Symlink(harness.Path(t, "."), filepath.Join(g.Dir, "sluice")); err != nil {
		t.Fatal(err)
	}
	return g
}

// workloads are four, of which three have the label of a component.
//
//go:embed testdata/workloads.yaml
var workloads string

// render renders a kustomization of the guide, beside workloads with the label of its component.
func render(t *testing.T, g *harness.Guide, block string) []byte {
	t.Helper()
	dir := filepath.Join(g.Dir, block)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	component, _, _ := strings.Cut(block, "-")
	g.Write(block+"/kustomization.yaml", g.Text(block))
	g.Write(block+"/controller.yaml", strings.ReplaceAll(workloads, "COMPONENT", component))
	return program(t, "kubectl", "kustomize", dir)
}

func TestCommandsOfTheGuideForClientsAndSidecars(t *testing.T) {
	t.Parallel()
	admin := harness.Start(t).Kubeconfig("admin")
	g := newGuide(t, admin)
	g.Shell("kubectl create namespace sluice")
	g.Shell("sluice certificate | kubectl apply --filename -")
	const created = "configmap/sluice-ca configmap/sluice-sidecar-ca secret/sluice-sidecar-ca" +
		" clusterrole/sluice-sidecar clusterrolebinding/sluice-sidecar --namespace=default"
	g.Run("client-ca")
	g.Run("sidecar-certificate")
	g.Run("sidecar-rights")
	g.Shell("kubectl get " + created)
	for _, resource := range []string{"apiservices", "customresourcedefinitions"} {
		harness.Eventually(t, "the right to watch "+resource, func() error { // the authorizer follows the role by a watch
			out, err := kubectl(t, admin, nil, "auth", "can-i", "watch", resource, "--as=system:serviceaccount:default:any",
				"--as-group=system:serviceaccounts:default")
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
	for _, block := range []string{clientBlock, sidecarBlock} {
		if warnings := apply(t, admin, render(t, g, block), "--dry-run=server"); warnings != "" {
			t.Errorf("%s: %s", block, warnings)
		}
	}
	g.Run("clients-off")
	if left := g.Shell("kubectl get --ignore-not-found " + created); left != "" {
		t.Errorf("is left: %s", left)
	}
}

func TestOverlaysOfTheGuide(t *testing.T) {
	t.Parallel()
	g := newGuide(t, harness.Start(t).Kubeconfig("admin"))
	all := objects(t, render(t, g, "overlay"))
	if image := podSpec(t, all["Deployment/sluice"]).Containers[0].Image; image != "registry.example.com/sluice:v1" {
		t.Errorf("image %s", image)
	}
	if all["Certificate/sluice-ca"] == nil {
		t.Error("no CA")
	}
	proxy := objects(t, render(t, g, "proxy-overlay"))
	if n := len(typed[corev1.Service](t, proxy["Service/sluice"]).Spec.Ports); n != 2 {
		t.Errorf("the Service has %d ports", n)
	}
	g.Shell("kubectl create namespace sluice")
	g.Write("client-ca.crt", "")
	g.Run("client-certificates")
	g.Shell("kubectl get configmap/sluice-client-ca --namespace=sluice")
}

// TestInstallationPrintsNoWarning runs the commands that need no node, with kubectl's own apply.
func TestInstallationPrintsNoWarning(t *testing.T) {
	t.Parallel()
	g := harness.NewGuide(t, guide, "test/cluster", harness.Start(t).Kubeconfig("admin"))
	out := g.Run("edge-certificate")
	for range 2 { // the second finds what the first has made
		out += g.Shell(g.Commands("edge-install")[0])
	}
	for _, want := range []string{"secret/sluice-ca created", "deployment.apps/sluice created", "deployment.apps/sluice unchanged"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(strings.ToLower(out), "warning") {
		t.Error(out)
	}
}

// The rule for prometheus-adapter offers the metric of the autoscaler.
func TestAdapterOffersTheMetricOfTheAutoscaler(t *testing.T) {
	var rules struct {
		Rules []struct {
			SeriesQuery string `json:"seriesQuery"`
			Resources   struct {
				Overrides map[string]struct {
					Resource string `json:"resource"`
				} `json:"overrides"`
			} `json:"resources"`
			MetricsQuery string `json:"metricsQuery"`
		} `json:"rules"`
	}
	if err := yaml.UnmarshalStrict([]byte(newGuide(t, "").Text("adapter")), &rules); err != nil {
		t.Fatal(err)
	}
	autoscaler := typed[autoscalingv2.HorizontalPodAutoscaler](t, objects(t, charted(t, "components"))["HorizontalPodAutoscaler/sluice"])
	metric := autoscaler.Spec.Metrics[0].Pods.Metric.Name
	if r := rules.Rules[0]; !strings.HasPrefix(r.SeriesQuery, metric+"{") || r.Resources.Overrides["pod"].Resource != "pod" {
		t.Errorf("%+v does not offer %s", r, metric)
	}
}
