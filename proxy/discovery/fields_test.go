package discovery

import (
	"testing"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

func TestSelectableFieldsEqualApiextensions(t *testing.T) {
	obj := []byte(`{"spec":{"color":"blue","n":5,"on":true,"off":false,"nothing":null,"empty":"","a.b":"dotted","deep":{"er":"x\u00e9\"<"},"list":[1],"a-b":"dash","f":1.50}}`)
	for _, path := range []string{".spec.color", ".spec.n", ".spec.on", ".spec.off", ".spec.nothing", ".spec.empty", ".spec['a.b']", `.spec['a\.b']`, ".spec['deep.er']", ".spec['deep'].er", `.spec.a\.b`, ".spec.deep.er", ".spec.a-b", ".spec.f", ".nope.x", ".spec.color.x", ".spec.list.x", ".spec['deep']['er']"} {
		names, ok := memberNames(path)
		if !ok {
			t.Errorf("%s is refused", path)
			continue
		}
		got, ok := json.Value(obj).Field(names...)
		if want := jsontest.Selectable(t, obj, path); !ok || got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
}

func TestSelectableFieldsAreChainsOfNames(t *testing.T) {
	for _, path := range []string{"", ".", "..", ".a..b", ".a[0]", ".a[*]", ".*", ".a['b','c']", ".a[?(@.b)]", ".a['b", `.a["b"]`, ".a b", "{.a}", ".a.", `.a\`, "[a]", ".a['']"} {
		if got, ok := memberNames(path); ok {
			t.Errorf("%s: %q", path, got)
		}
	}
}
