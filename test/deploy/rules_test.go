package deploy

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// copies are metrics of which each replica has its own copy, so that they are not added up, with how replicas are joined.
var copies = map[string]string{"sluice_store_synced": "min", "sluice_store_proven_seconds": "max", "sluice_store_objects": "max"}

// joined is how a query joins series, and of which metric.
var joined = regexp.MustCompile(`\b(sum|min|max|avg|count|group)\b[^(]*(?:by \([^)]*\) )?\((?:rate\()?((?:sluice|process|go)_[a-z_]+)`)

// TestReplicasAddUp: what replicas did is added up, and quantiles and ratios are taken of the sums.
func TestReplicasAddUp(t *testing.T) {
	sums, seen := 0, map[string]bool{}
	for name, query := range queries(t, objects(t, charted(t, "components"))) {
		for _, f := range joined.FindAllStringSubmatch(query, -1) {
			want := cmp.Or(copies[f[2]], "sum")
			if f[1] != want {
				t.Errorf("%s joins replicas of %s by %s, want %s", name, f[2], f[1], want)
			}
			sums, seen[f[2]] = sums+1, true
		}
		if strings.Contains(query, "histogram_quantile") && !strings.Contains(query, "sum by (le, ") {
			t.Errorf("%s takes a quantile of each replica: %s", name, query)
		}
		if before, after, ratio := strings.Cut(query, " / "); ratio && (!strings.Contains(before, "sum") || !strings.HasPrefix(after, "sum")) {
			t.Errorf("%s divides before it adds: %s", name, query)
		}
	}
	for metric := range copies {
		if !seen[metric] {
			t.Errorf("no query joins replicas of %s", metric)
		}
	}
	if sums < 20 {
		t.Errorf("%d sums: the pattern is wrong", sums)
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
