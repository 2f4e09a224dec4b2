package json

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"sluice/test/support/jsontest"
)

// selectable is the oracle: the value that apiextensions selects by.
func selectable(t *testing.T, obj []byte, path string) string {
	t.Helper()
	p := jsonpath.New("selectableField")
	p.AllowMissingKeys(true)
	if err := p.Parse("{" + path + "}"); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(obj, &content); err != nil {
		t.Fatal(err)
	}
	results, err := p.FindResults(content)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(results) == 0 || len(results[0]) == 0 || results[0][0].Interface() == nil {
		return ""
	}
	return fmt.Sprint(results[0][0].Interface())
}

func TestFieldEqualsApiextensions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	check := func(n string) {
		obj := []byte(`{"n":` + n + `}`)
		if got, ok := Value(obj).Field("n"); !ok || got != selectable(t, obj, ".n") {
			t.Errorf("%s: %s, want %s", n, got, selectable(t, obj, ".n"))
		}
	}
	for _, n := range jsontest.Numbers {
		check(n)
	}
	for range 1000 {
		check(fmt.Sprint(r.NormFloat64() * 1e6))
		check(string(AppendString(nil, jsontest.Text(r))))
	}
	if _, ok := Value(`{"spec":{"list":[1]}}`).Field("spec", "list"); ok {
		t.Error("a list is no field")
	}
}
