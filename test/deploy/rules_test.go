package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestAlertsFireByFaultsOnly has Prometheus evaluate the rules over made-up series.
func TestAlertsFireByFaultsOnly(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian package prometheus)")
	}
	all := objects(t, charted(t, "components"))
	rules, err := yaml.Marshal(all["PrometheusRule/sluice"].Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yaml": rules, "tests.yaml": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "tests.yaml"}} {
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir, c.WaitDelay = dir, time.Second
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestRatiosCountSuccessesOnly: anybody can send requests that fail, so a part of all requests says nothing.
func TestRatiosCountSuccessesOnly(t *testing.T) {
	ratios := 0
	for name, query := range queries(t, objects(t, charted(t, "components"))) {
		if !strings.Contains(query, ") / sum") {
			continue
		}
		for _, f := range metricName.FindAllStringSubmatch(query, -1) {
			if f[1] == "sluice_request_total" {
				ratios++
				if !strings.Contains(f[2], `code=~"2.."`) {
					t.Errorf("%s counts requests that fail: %s", name, f[0])
				}
			}
		}
	}
	if ratios < 4 {
		t.Errorf("%d counters in ratios: the pattern is wrong", ratios)
	}
}

// TestNothingShowsLagAlone: a quiet store that is well has heard nothing for up to a minute.
func TestNothingShowsLagAlone(t *testing.T) {
	for name, query := range queries(t, objects(t, charted(t, "components"))) {
		if strings.Contains(query, "sluice_store_lag_seconds") && !strings.Contains(query, "sluice_store_proven_seconds") {
			t.Errorf("%s shows lag without proofs", name)
		}
	}
}
