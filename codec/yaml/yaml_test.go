package yaml

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

// whole returns the YAML of the apiserver.
func whole(t *testing.T, src []byte) string {
	t.Helper()
	out, err := sigsyaml.JSONToYAML(src)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestItemsAndMembersMakeTheList(t *testing.T) {
	var items [][]byte
	size := 0
	for _, f := range append(jsontest.Realistic(), jsontest.Corpus(t)...) {
		if size += len(f.JSON); size < MaxObject*5/4 { // the oracle is slow
			items = append(items, f.JSON)
		}
	}
	meta := []byte(`{"resourceVersion":"1","continue":""}`)
	list := []byte(`{"apiVersion":"v1","kind":"List","metadata":` + string(meta) + `,"items":[` + string(bytes.Join(items, []byte(","))) + `]}`)
	out, _ := AppendMember(nil, "apiVersion", []byte(`"v1"`))
	out = append(out, "items:\n"...)
	for _, item := range items {
		out, _ = AppendItem(out, item)
	}
	out, _ = AppendMember(out, "kind", []byte(`"List"`))
	out, err := AppendMember(out, "metadata", meta)
	want := whole(t, list)
	if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
		t.Fatalf("%v, %s", err, diff)
	}
	if len(list) <= MaxObject {
		t.Fatalf("the list has only %d bytes", len(list))
	}
	long, err := AppendFromJSON([]byte("x\n"), list)
	if diff := cmp.Diff("x\n"+want, string(long)); err != nil || diff != "" {
		t.Errorf("in one call: %v, %s", err, diff)
	}
}

// The encoder that the apiserver puts in front of the library replaces such bytes.
func TestBytesThatAreNotUTF8AreReplaced(t *testing.T) {
	got, err := AppendFromJSON(nil, []byte("{\"a\":\"x\xffy\"}"))
	if want := "a: x\ufffdy\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestErrorsLeaveTheTextUnchanged(t *testing.T) {
	nest := func(n int, inner string) string { return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n) }
	for in, want := range map[string]error{
		"": json.ErrSyntax, "{": json.ErrSyntax, `{"a":1,}`: json.ErrSyntax, "1 2": json.ErrSyntax, "]": json.ErrSyntax, "a: 1": json.ErrSyntax,
		nest(maxDepth, "1"): json.ErrDepth,
		nest(100, "["+strings.Repeat("0,", 10_000)+"0]"):          json.ErrSize,
		nest(100, `"`+strings.Repeat("a ", 10_000)+`a"`):          json.ErrSize,
		`{"a":"` + strings.Repeat("x", MaxObject) + `"}`:          json.ErrSize,
		`{"items":["` + strings.Repeat("x", MaxObject) + `"]}`:    json.ErrSize,
		`{"x10":1,"x9":` + strings.Repeat(" ", MaxObject) + `2}`:  json.ErrSize, // the library has another order of names
		`"` + strings.Repeat("x", MaxObject) + `"`:                json.ErrSize,
		`["` + strings.Repeat(`xxxxxxxx","`, MaxObject/8) + `"]`:  json.ErrSize,
		`{"a":["` + strings.Repeat(`x","`, MaxObject/4) + `x"]}`:  json.ErrSize,
		`{"a":"` + strings.Repeat("x", MaxObject) + `","b":"c"}1`: json.ErrSize,
	} {
		got, err := AppendItem([]byte("x"), []byte(in))
		if in == "" {
			got, err = AppendFromJSON([]byte("x"), nil)
		}
		if !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%.40q: %.40q, %v, want %v", in, got, err, want)
		}
		if got, err = AppendFromJSON([]byte("x"), []byte(in)); want == json.ErrSize && !errors.Is(err, want) || err != nil && string(got) != "x" {
			t.Errorf("%.40q as a document: %.40q, %v, want %v", in, got, err, want)
		}
	}
	if got, err := AppendFromJSON([]byte("x"), []byte("{\"a\":\"\ufffe\"}")); err == nil || string(got) != "x" {
		t.Errorf("a text that the apiserver fails to print: %q, %v", got, err)
	}
}
