package json

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	obj := []byte(`{"spec":{"color":"blue","n":5,"on":true,"off":false,"nothing":null,"empty":"","a.b":"dotted","deep":{"er":"x\u00e9\"<"},"list":[1],"a-b":"dash","f":1.50}}`)
	for _, path := range []string{".spec.color", ".spec.n", ".spec.on", ".spec.off", ".spec.nothing", ".spec.empty", ".spec['a.b']", `.spec['a\.b']`, ".spec['deep.er']", ".spec['deep'].er", `.spec.a\.b`, ".spec.deep.er", ".spec.a-b", ".spec.f", ".nope.x", ".spec.color.x", ".spec.list.x", ".spec['deep']['er']"} {
		names, err := ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, ok := Value(obj).Field(names...)
		if want := selectable(t, obj, path); !ok || got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
		if without, err := ParsePath(strings.TrimPrefix(path, ".")); err != nil || !cmp.Equal(names, without) {
			t.Errorf("%s without its dot: %q, %v", path, without, err)
		}
	}
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
	if _, ok := Value(obj).Field("spec", "list"); ok {
		t.Error("a list is no field")
	}
}

func TestParsePathRefusesAllButNames(t *testing.T) {
	for _, path := range []string{"", ".", "..", ".a..b", ".a[0]", ".a[*]", ".*", ".a['b','c']", ".a[?(@.b)]", ".a['b", `.a["b"]`, ".a b", "{.a}", ".a.", `.a\`, "[a]", "$.a", ".a['']"} {
		if got, err := ParsePath(path); !errors.Is(err, ErrPath) {
			t.Errorf("ParsePath(%s) = %q, %v", path, got, err)
		}
	}
}
