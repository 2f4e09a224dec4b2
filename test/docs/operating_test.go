package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/config"
	"sluice/test/harness"
)

// operating is docs/operating.md.
func operating(t *testing.T) string { return read(t, "docs/operating.md") }

func read(t *testing.T, path string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources returns the text of all Go files below a folder, without tests.
func sources(t *testing.T, folder string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = fs.WalkDir(os.DirFS(root), folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			all.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestOperatingListsEveryName finds metrics, flags and reasons in the source by their form, and looks for
// each in docs/operating.md.
func TestOperatingListsEveryName(t *testing.T) {
	text := operating(t)
	for _, tt := range []struct{ what, folder, form, as string }{
		{"metrics", "cmd", `"(sluice_[a-z_]+)"`, "`%`"},
		{"metrics", "proxy", `"(sluice_[a-z_]*[a-z])"`, "`%`"},
		{"metrics of stores", "proxy/resources", `describeMetric\("([a-z_]+)"`, "`sluice_store_%`"},
		{"flags", "cmd/sluice", `set\.\w+Var\(&[\w.]+, "([a-z-]+)"`, "`--%`"},
		{"reasons", "proxy/serve", `\b(?:hit|pass)Reason += "([a-z-]+)"`, "`%`"},
		{"proofs", "cache", `return "([a-z]+-watch)"`, "`%`"},
		{"reasons", "proxy/flowcontrol", `(?m)^\t[A-Z]\w+ += "(too-[a-z-]+)"`, "`%`"},
		{"reasons", "proxy/resources", `(?m)^\t[A-Z]\w+ += "([a-z-]+)"`, "`%`"},
	} {
		found := regexp.MustCompile(tt.form).FindAllStringSubmatch(sources(t, tt.folder), -1)
		if len(found) == 0 {
			t.Errorf("no %s in %s: the pattern is wrong", tt.what, tt.folder)
		}
		for _, f := range found {
			if want := strings.ReplaceAll(tt.as, "%", f[1]); !strings.Contains(text, want) {
				t.Errorf("%s: %s is not in docs/operating.md", tt.what, want)
			}
		}
	}
}

// TestDocumentedConfigurationIsTheDefault compares the configuration file in the document with the defaults.
func TestDocumentedConfigurationIsTheDefault(t *testing.T) {
	_, block, _ := strings.Cut(operating(t), "```yaml\napiVersion: "+config.APIVersion)
	block, _, _ = strings.Cut("apiVersion: "+config.APIVersion+block, "```")
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.File{}
	want.Default()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("default (-) and document (+):\n%s", diff)
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(block), &fields); err != nil {
		t.Fatal(err)
	}
	checkFields(t, reflect.TypeFor[config.File](), fields, "")
}

// checkFields reports fields of a type that the document lacks.
func checkFields(t *testing.T, of reflect.Type, there map[string]any, under string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		value, ok := there[name]
		if !ok {
			t.Errorf("%s%s is not in the document", under, name)
		}
		if inner := of.Field(i).Type; inner.Kind() == reflect.Struct && inner != reflect.TypeFor[metav1.Duration]() {
			section, _ := value.(map[string]any)
			checkFields(t, inner, section, under+name+".")
		}
	}
}
