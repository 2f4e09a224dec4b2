package deploy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice/test/harness"
)

// TestProcessHasTheMemoryAndTheNamesOfItsPod starts Sluice with the configuration of the chart in a cgroup, as in a container.
func TestProcessHasTheMemoryAndTheNamesOfItsPod(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a cgroup needs root")
	}
	text := typed[corev1.ConfigMap](t, objects(t, charted(t, "proxy"))["ConfigMap/sluice-config"]).Data["sluice.yaml"]
	for _, limit := range []int64{1 << 30, 3 << 29} {
		s := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: text, Memory: limit, Flags: []string{"--proxy-listen=127.0.0.1:0"}})
		metrics, err := s.Metrics()
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(metrics.Sum("sluice_stores_limit_bytes")); got != limit/2 {
			t.Errorf("stores may take %d bytes of %d", got, limit)
		}
		for _, name := range []string{"sluice.sluice.svc", "kubernetes.default.svc"} { // a client may ask for it by these
			config := s.RESTConfig("nobody")
			config.ServerName = name
			if _, err := harness.RawClientFor(t, config).Get(t.Context(), "/version", "application/json"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestEveryValueReachesTheObjects looks for what deploy/helm/sluice/ci/narrow.yaml sets.
func TestEveryValueReachesTheObjects(t *testing.T) {
	all := objects(t, charted(t, "narrow"))
	for key, want := range map[string][]string{
		"Deployment/sluice-gateway": {"OTEL_EXPORTER_OTLP_HEADERS", "proxy-environment", "--log-level=warn", "terminationGracePeriodSeconds:90",
			"maxSurge:0", "runAsUser:1000", "runAsNonRoot:true", "NET_BIND_SERVICE", "readOnlyRootFilesystem:true", "example.com/owner:edge", "team:edge"},
		"Service/sluice-gateway":            {"loadBalancerClass:example.com/internal", "type:LoadBalancer", "tier:edge", "team:edge"},
		"Certificate/sluice-gateway":        {"duration:2160h", "name:corporate", "192.0.2.7", "sluice-gateway-tls"},
		"ServiceAccount/sluice-gateway":     {"example.com/role:sluice", "team:edge"},
		"PrometheusRule/sluice-gateway":     {"team:edge"},
		"NetworkPolicy/sluice-gateway":      {"team:edge"},
		"ClusterRoleBinding/sluice-gateway": {"team:edge"},
		"ServiceMonitor/sluice-gateway":     {"interval:15s", "scrapeTimeout:10s", "targetLabel:node", "action:labeldrop", "name:prometheus"},
	} {
		if all[key] == nil {
			t.Errorf("no %s", key)
			continue
		}
		text := fmt.Sprint(all[key].Object)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %s: %s", key, w, text)
			}
		}
	}
	if all["Secret/sluice-gateway-metrics"] != nil || all["Secret/sluice-gateway-ca"] != nil {
		t.Error("the chart makes a token or a CA besides those that were named")
	}
}
