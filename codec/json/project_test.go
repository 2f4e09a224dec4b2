package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"testing"

	"sluice/codec/projection"
)

func treeOf(t testing.TB, keep, drop string) *projection.Tree {
	t.Helper()
	p, err := projection.Parse(keep, drop)
	if err != nil {
		t.Fatal(err)
	}
	return p.Tree()
}

func TestProjectionsLeaveTheBytesOfValues(t *testing.T) {
	const meta = `"apiVersion":"v1","kind":"K","metadata":{"name":"n"}`
	for _, row := range []struct{ keep, drop, src, want string }{
		{"spec.a", "", `{` + meta + `,"spec":{"a":[1, {}],"b":1},"status":{}}`, `{` + meta + `,"spec":{"a":[1, {}]}}`},
		{"spec.a", "", `{` + meta + `,"status":{}}`, `{` + meta + `}`},
		{"spec.a", "", `{` + meta + `,"spec":{}}`, `{` + meta + `,"spec":{}}`},
		{"spec.a.b", "", `{` + meta + `,"spec":{"a":"text"}}`, `{` + meta + `,"spec":{}}`},
		{"spec.a[*].b", "", `{` + meta + `,"spec":{"a":[{"b":1,"c":2},{"c":2},null]}}`, `{` + meta + `,"spec":{"a":[{"b":1},{},null]}}`},
		{"spec.a[*].b", "", `{` + meta + `,"spec":{"a":null}}`, `{` + meta + `,"spec":{}}`},
		{"spec.a.b", "", `{` + meta + `,"spec":{"a":[{"b":1}]}}`, `{` + meta + `,"spec":{}}`},
		{"spec.m[x/y.z]", "", `{` + meta + `,"spec":{"m":{"x/y.z":"1","x":"2"}}}`, `{` + meta + `,"spec":{"m":{"x/y.z":"1"}}}`},
		{"spec.m[*].b", "", `{` + meta + `,"spec":{"m":{"k":{"a":1,"b":2}}}}`, `{` + meta + `,"spec":{"m":{"k":{"b":2}}}}`},
		{"spec+spec.a", "", `{` + meta + `,"spec":{"a":1,"b":2}}`, `{` + meta + `,"spec":{"a":1,"b":2}}`},
		{"", "spec.a", `{` + meta + `,"spec":{"a":1,"b":2}}`, `{` + meta + `,"spec":{"b":2}}`},
		{"", "spec.a[*].b", `{` + meta + `,"spec":{"a":[{"b":1,"c":2},7]}}`, `{` + meta + `,"spec":{"a":[{"c":2},7]}}`},
		{"", "spec.a.b", `{` + meta + `,"spec":{"a":7}}`, `{` + meta + `,"spec":{"a":7}}`},
		{"", "metadata.managedFields", `{"metadata":{"managed\u0046ields":[1],"name":"n"}}`, `{"metadata":{"name":"n"}}`},
		{"", "metadata.managedFields", `{"metadata":{"labels":{"managedFields":"x"}},"managedFields":1}`, `{"metadata":{"labels":{"managedFields":"x"}},"managedFields":1}`},
		{"", "metadata.managedFields", `{}`, `{}`},
	} {
		got, err := AppendProjected([]byte("x"), []byte(row.src), treeOf(t, row.keep, row.drop))
		if err != nil || string(got) != "x"+row.want {
			t.Errorf("keep %q, drop %q of %s: %s, %v, want %s", row.keep, row.drop, row.src, got, err, row.want)
		}
	}
}

func TestProjectionsRefuseMalformedObjects(t *testing.T) {
	tree := treeOf(t, "", "metadata.managedFields")
	for src, want := range map[string]error{
		`[]`: ErrNotObject, ``: ErrNotObject, `{"a":`: ErrSyntax, `{"metadata":{"a":1`: ErrSyntax, `{"metadata":{"a"}}`: ErrSyntax,
	} {
		if got, err := AppendProjected([]byte("x"), []byte(src), tree); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%s: %s, %v, want %v", src, got, err, want)
		}
	}
}

// FuzzProjectionsEqualThoseOfDecodedObjects compares with projecting Go values.
func FuzzProjectionsEqualThoseOfDecodedObjects(f *testing.F) {
	for _, paths := range []string{"spec", "spec.a", "spec.a[*].b", "spec[*].b[*].c", "metadata.managedFields", "a.b[k]+a.c"} {
		f.Add(paths, []byte(`{"metadata":{"name":"n","managedFields":[{"manager":"}"}]},"spec":{"a":[{"b":1},2]},"a":{"b":{"k":1,"l":2}}}`))
	}
	f.Fuzz(func(t *testing.T, paths string, src []byte) {
		var value any
		if Valid(src, 0) != nil || stdjson.Unmarshal(src, &value) != nil {
			return
		}
		object, ok := value.(map[string]any)
		if again, _ := stdjson.Marshal(value); !ok || bytes.Count(again, []byte(`":`)) != bytes.Count(src, []byte(`":`)) {
			return // a repeated name, of which no rule says which counts
		}
		keep, keepErr := projection.Parse(paths, "")
		drop, dropErr := projection.Parse("", paths)
		for _, p := range []projection.Projection{keep, drop} {
			if keepErr != nil || p == "" || p == drop && dropErr != nil {
				continue
			}
			out, err := AppendProjected(nil, src, p.Tree())
			var got any
			if err != nil || stdjson.Unmarshal(out, &got) != nil {
				t.Fatalf("%s of %s: %s, %v", p, src, out, err)
			}
			if want := projectValue(object, p.Tree().Root, p.Tree().Keeps); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %s: %s, want %v", p, src, out, want)
			}
		}
	})
}

// projectValue is the rule of package projection for Go values.
func projectValue(v any, n *projection.Node, keeps bool) any {
	enters := func(v any, n *projection.Node) bool {
		_, list := v.([]any)
		_, object := v.(map[string]any)
		return object || list && n.Each != nil
	}
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, element := range v {
			if enters(element, n.Each) {
				element = projectValue(element, n.Each, keeps)
			} else if keeps {
				element = nil
			}
			out = append(out, element)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			child := n.Fields[name]
			if n.Each != nil {
				child = n.Each
			}
			switch {
			case child == nil || child.Whole:
				if (child == nil) != keeps {
					out[name] = member
				}
			case enters(member, child):
				out[name] = projectValue(member, child, keeps)
			case !keeps:
				out[name] = member
			}
		}
		return out
	}
	return v
}
