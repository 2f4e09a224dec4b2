package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"sluice/config"
	"sluice/test/harness"
)

// typed converts an object to a Go type.
func typed[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	if o == nil {
		t.Fatalf("no object of type %T", *new(T))
	}
	v := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// documentedRules returns the rules of docs/operating.md#rights, and of them those to impersonate.
func documentedRules(t *testing.T) (rules, impersonation []rbacv1.PolicyRule) {
	t.Helper()
	_, block, _ := strings.Cut(harness.Read(t, "docs/operating.md"), "\n## Rights\n")
	_, block, _ = strings.Cut(block, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(block), &role); err != nil {
		t.Fatal(err)
	}
	for _, r := range role.Rules {
		if slices.Contains(r.Verbs, "impersonate") {
			impersonation = append(impersonation, r)
		} else {
			rules = append(rules, r)
		}
	}
	return rules, impersonation
}

func TestRightsAreTheDocumentedOnes(t *testing.T) {
	rules, impersonation := documentedRules(t)
	base := typed[rbacv1.ClusterRole](t, objects(t, kustomized(t, "deploy/kustomize/base"))["ClusterRole/sluice"])
	if diff := cmp.Diff(rules, base.Rules); diff != "" {
		t.Errorf("document (-), base (+):\n%s", diff)
	}
	certificates := typed[rbacv1.ClusterRole](t, objects(t, kustomized(t, "test/deploy/testdata/client-ca"))["ClusterRole/sluice"])
	if diff := cmp.Diff(slices.Concat(rules, impersonation), certificates.Rules); diff != "" {
		t.Errorf("document (-), client-ca (+):\n%s", diff)
	}
	narrow := typed[rbacv1.ClusterRole](t, objects(t, charted(t, "narrow"))["ClusterRole/sluice-gateway"])
	listing := []string{"list", "watch"}
	want := append([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: listing},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}, Verbs: listing},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}, Verbs: listing},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: listing},
	}, append(rules[1:], impersonation...)...)
	if diff := cmp.Diff(want, narrow.Rules); diff != "" {
		t.Errorf("want (-), chart with few rights (+):\n%s", diff)
	}
}

// TestConfigurationIsValidAndFitsTheMemory loads each configuration file as Sluice does.
func TestConfigurationIsValidAndFitsTheMemory(t *testing.T) {
	sets := map[string][]byte{"few rights": charted(t, "narrow")}
	for _, p := range pairs {
		sets[p.values] = charted(t, p.values)
	}
	for name, set := range sets {
		var file *config.File
		var limit int64
		for key, o := range objects(t, set) {
			switch {
			case strings.HasPrefix(key, "ConfigMap/") && strings.HasSuffix(key, "-config"):
				file = load(t, typed[corev1.ConfigMap](t, o).Data["sluice.yaml"])
			case o.GetKind() == "Deployment":
				limit = typed[appsv1.Deployment](t, o).Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value()
			}
		}
		if file == nil {
			t.Fatalf("%s has no configuration", name)
		}
		fitsMemory(t, name, file, limit)
	}
}

// fitsMemory compares a configuration with the memory limit of its container, by the rule of
// docs/deploying.md: one and a half times the stores and encoded objects.
func fitsMemory(t *testing.T, name string, file *config.File, limit int64) {
	t.Helper()
	stores := file.Cache.MaxBytes
	if stores == 0 {
		stores = limit / 2
	}
	if use := (stores + *file.Cache.EncodedBytes) * 3 / 2; use > limit*9/10 {
		t.Errorf("%s: caches take up to %d bytes, the container may use %d", name, use, limit)
	}
}

func load(t *testing.T, text string) *config.File {
	t.Helper()
	document := config.Parse("sluice.yaml", []byte(text))
	if err := document.Check(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	return document.File
}

// TestSecurityExplainsEachRight compares the list of docs/security.md with the rules that are
// installed: each rule has an entry, and each entry is about a rule.
func TestSecurityExplainsEachRight(t *testing.T) {
	_, section, _ := strings.Cut(harness.Read(t, "docs/security.md"), "\n## Rights, line by line\n")
	section, _, _ = strings.Cut(section, "\n#")
	rows := map[string]bool{} // the rules of the list, and whether they are installed
	for line := range strings.Lines(section) {
		if rule, _, explained := strings.Cut(line, " ("); explained && strings.HasPrefix(rule, "- `") {
			rows[rule] = false
		}
	}
	rules, impersonation := documentedRules(t)
	for _, r := range append(rules, impersonation...) {
		what := slices.Concat(r.ResourceNames, r.Resources, r.NonResourceURLs)[0]
		if what == "*" && r.APIGroups[0] != "*" {
			what = r.APIGroups[0]
		}
		found := false
		for row := range rows {
			lacks := func(verb string) bool { return !strings.Contains(row, "`"+verb+"`") }
			if strings.Contains(row, what) && !slices.ContainsFunc(r.Verbs, lacks) {
				rows[row], found = true, true
			}
		}
		if !found {
			t.Errorf("no entry explains %v on %s", r.Verbs, what)
		}
	}
	for row, used := range rows {
		if !used {
			t.Errorf("no rule for the entry %s", row)
		}
	}
}
