package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/codec/json"
	"sluice/test/harness"
)

func TestAnswersAreEqual(t *testing.T) {
	rows, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	populate(t)
	sync(t)
	vars := variables(t)
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			compare(t, row, vars)
		})
	}
}

func compare(t *testing.T, row Row, vars *strings.Replacer) {
	q := row.request(vars)
	want, err := plane.Raw(row.user()).Do(t.Context(), q)
	if err != nil {
		t.Fatalf("apiserver: %v", err)
	}
	got, err := sluice.Raw(row.user()).Do(t.Context(), q)
	if err != nil {
		t.Fatalf("Sluice: %v", err)
	}
	if want.Status != row.Status {
		t.Errorf("the apiserver answers %d, the row expects %d: %.300s", want.Status, row.Status, want.Body)
	}
	if source, _, _ := strings.Cut(got.Header.Get("Sluice-Source"), ";"); source != row.Source && row.Source != "either" {
		t.Errorf("answered from %q, want %s", got.Header.Get("Sluice-Source"), row.Source)
	}
	if diff := cmp.Diff(reduce(want, row.Loose), reduce(got, row.Loose)); diff != "" {
		t.Errorf("apiserver (-) and Sluice (+) differ:\n%s", diff)
	}
}

// variables are what rows may name: {rv}, a version that both servers have
// reached; {future}, one that neither has; {uid} of the ConfigMap o/a.
func variables(t *testing.T) *strings.Replacer {
	t.Helper()
	get := func(path string, field ...string) string {
		a, err := plane.Raw("admin").Do(t.Context(), harness.Request{Method: http.MethodGet, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		text, ok := json.Value(a.Body).Get(field...).Text()
		if !ok {
			t.Fatalf("%s has no %v: %s", path, field, a.Body)
		}
		return text
	}
	return strings.NewReplacer(
		"{rv}", get("/api/v1/namespaces/o/configmaps/a", "metadata", "resourceVersion"),
		"{uid}", get("/api/v1/namespaces/o/configmaps/a", "metadata", "uid"),
		"{future}", "99999999",
	)
}
