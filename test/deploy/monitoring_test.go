package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice/test/harness"
)

// metricName is a metric in a query, with the labels that the query selects.
var metricName = regexp.MustCompile(`\b((?:sluice|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)

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
	if len(found) < 30 {
		t.Errorf("only %d queries", len(found))
	}
	return found
}

// curve is a query of a panel.
type curve struct {
	panel, Expr, LegendFormat string
}

// curves returns all queries of the dashboard, of which each panel has one, and that of the autoscaler.
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
	autoscaler := typed[autoscalingv2.HorizontalPodAutoscaler](t, all["HorizontalPodAutoscaler/sluice"])
	metric := autoscaler.Spec.Metrics[0].Pods.Metric
	for label, value := range metric.Selector.MatchLabels {
		found = append(found, curve{panel: "autoscaler", Expr: fmt.Sprintf("%s{%s=%q}", metric.Name, label, value)})
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
	const base = "https://docs.example.com/deploying.html"
	values := filepath.Join(t.TempDir(), "runbooks.yaml")
	if err := os.WriteFile(values, []byte("monitoring: {enabled: true, runbooks: '"+base+"'}"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := alerts(t, objects(t, program(t, "chart", harness.Path(t, "deploy/helm/sluice"), "sluice", "sluice", values)))
	kustomization := alerts(t, objects(t, render(t, newGuide(t, ""), "runbooks")))
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
		if !strings.Contains(harness.Read(t, "docs/deploying.md"), "\n### "+name+"\n") {
			t.Errorf("docs/deploying.md has no section %s", name)
		}
	}
}
