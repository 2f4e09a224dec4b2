package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice/test/harness"
)

var (
	// metricName is a metric in a query, with the labels that the query selects.
	metricName = regexp.MustCompile(`\b((?:sluice|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	// selected is a label in a selector.
	selected = regexp.MustCompile(`(\w+)(?:=~?|!=|!~)"`)
	// verbs are the verbs that a query selects.
	verbs = regexp.MustCompile(`\bverb=~?"([^"]*)"`)
	// grouped are the labels that a query groups by.
	grouped = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// scraped are the labels that Prometheus adds to what it scrapes.
var scraped = []string{"job", "pod", "namespace", "le"}

// TestQueriesUseMetricsThatExist compares the dashboard, the alerts and the autoscaler with the metrics of a
// gateway that has served lists, watches and errors.
func TestQueriesUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	exported := exercised(t)
	all := objects(t, charted(t, "components"))
	for name, query := range queries(t, all) {
		labels := map[string]bool{}
		found := metricName.FindAllStringSubmatch(query, -1)
		if len(found) == 0 {
			t.Errorf("%s: no metric in %s", name, query)
		}
		for _, f := range found {
			base := strings.TrimSuffix(f[1], "_bucket")
			family := exported[base]
			if family == nil {
				t.Errorf("%s: Sluice exports no %s", name, f[1])
				continue
			}
			own := labelsOf(family)
			for _, v := range verbs.FindAllStringSubmatch(f[2], -1) {
				for verb := range strings.SplitSeq(v[1], "|") {
					if values := valuesOf(family, "verb"); !slices.Contains(values, verb) {
						t.Errorf("%s: %s has no verb %s, but %v", name, base, verb, values)
					}
				}
			}
			for _, l := range own {
				labels[l] = true
			}
			for _, s := range selected.FindAllStringSubmatch(f[2], -1) {
				if !slices.Contains(own, s[1]) && !slices.Contains(scraped, s[1]) {
					t.Errorf("%s: %s has no label %s, but %v", name, base, s[1], own)
				}
			}
		}
		for _, g := range grouped.FindAllStringSubmatch(query, -1) {
			for label := range strings.SplitSeq(g[1], ",") {
				if label = strings.TrimSpace(label); !labels[label] && !slices.Contains(scraped, label) {
					t.Errorf("%s groups by %s, which no metric of it has", name, label)
				}
			}
		}
	}
}

// exercised returns the metrics of a gateway that has served requests of all kinds.
func exercised(t *testing.T) harness.Metrics {
	t.Helper()
	audit := "{apiVersion: sluice/v1alpha1, kind: Configuration, audit: {path: " + filepath.Join(t.TempDir(), "audit.log") + "}}"
	gateway := plane.StartSluice(t, harness.SluiceOptions{Config: audit})
	gateway.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	client := gateway.Client("admin")
	for _, version := range []string{"0", ""} {
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ResourceVersion: version}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	// Others than system:masters take seats. The refusal is one of the apiserver.
	_, _ = gateway.Client("nobody").CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	ended, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	ended.Stop()
	served, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Stop)
	passed, err := client.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(passed.Stop)
	var metrics harness.Metrics
	harness.Eventually(t, "metrics of open watches", func() error {
		metrics, err = gateway.Metrics()
		if err == nil && (metrics.Sum("sluice_watchers") == 0 || metrics.Sum("sluice_passed_watchers") == 0 ||
			metrics.Sum("sluice_request_total", "verb=WATCH") == 0) {
			err = os.ErrNotExist
		}
		return err
	})
	return metrics
}

func labelsOf(f *dto.MetricFamily) (names []string) {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			names = append(names, l.GetName())
		}
	}
	return names
}

func valuesOf(f *dto.MetricFamily, label string) (values []string) {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				values = append(values, l.GetValue())
			}
		}
	}
	return values
}

// queries returns all queries of rendered objects, by where they are.
func queries(t *testing.T, all map[string]*unstructured.Unstructured) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, c := range curves(t, all) {
		found["panel "+c.panel+": "+c.Expr] = c.Expr
	}
	for _, rule := range alerts(t, all) {
		found["alert "+rule["alert"].(string)] = rule["expr"].(string)
	}
	metric := all["HorizontalPodAutoscaler/sluice"].Object["spec"].(map[string]any)["metrics"].([]any)[0].(map[string]any)["pods"].(map[string]any)["metric"].(map[string]any)
	matched, _, _ := unstructured.NestedStringMap(metric, "selector", "matchLabels")
	for label, value := range matched {
		found["autoscaler"] = metric["name"].(string) + "{" + label + `="` + value + `"}`
	}
	if len(found) < 30 {
		t.Errorf("only %d queries", len(found))
	}
	return found
}

// curve is a query of a panel.
type curve struct {
	panel, Expr, LegendFormat string
}

// curves returns all queries of the dashboard. Each panel has one.
func curves(t *testing.T, all map[string]*unstructured.Unstructured) (found []curve) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []curve
		}
	}
	text, _, _ := unstructured.NestedString(all["ConfigMap/sluice-dashboard"].Object, "data", "sluice.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s is empty", p.Title)
		}
		for _, c := range p.Targets {
			c.panel = p.Title
			found = append(found, c)
		}
	}
	return found
}

func alerts(t *testing.T, all map[string]*unstructured.Unstructured) (rules []map[string]any) {
	t.Helper()
	groups, _, err := unstructured.NestedSlice(all["PrometheusRule/sluice"].Object, "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			rules = append(rules, r.(map[string]any))
		}
	}
	return rules
}

func TestEveryAlertHasARunbook(t *testing.T) {
	text, err := os.ReadFile(path(t, "docs/deploying.md"))
	if err != nil {
		t.Fatal(err)
	}
	const base = "https://docs.example.com/deploying.html"
	values := filepath.Join(t.TempDir(), "runbooks.yaml")
	if err := os.WriteFile(values, []byte("monitoring: {enabled: true, runbooks: '"+base+"'}"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := alerts(t, objects(t, program(t, "chart", path(t, "deploy/helm/sluice"), "sluice", "sluice", values)))
	kustomization := alerts(t, objects(t, render(t, newGuide(t, ""), "runbooks", "")))
	for i, rule := range alerts(t, objects(t, charted(t, "components"))) {
		name := rule["alert"].(string)
		section := "#" + strings.ToLower(name)
		annotations := rule["annotations"].(map[string]any)
		if want := "docs/deploying.md" + section; annotations["runbook"] != want {
			t.Errorf("%s: runbook %v, want %s", name, annotations["runbook"], want)
		}
		if got := elsewhere[i]["annotations"].(map[string]any)["runbook_url"]; got != base+section {
			t.Errorf("%s: runbook_url %v", name, got)
		}
		want := "https://docs.example.com/sluice/deploying.html" + section
		if got := kustomization[i]["annotations"].(map[string]any)["runbook"]; got != want {
			t.Errorf("%s: runbook %v of the kustomization, want %s", name, got, want)
		}
		if !strings.Contains(string(text), "\n### "+name+"\n") {
			t.Errorf("docs/deploying.md has no section %s", name)
		}
	}
}
