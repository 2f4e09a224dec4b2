package jsontest

import (
	"fmt"
	"testing"

	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"
)

// Selectable returns the value by which apiextensions selects an object, at a JSONPath.
func Selectable(t *testing.T, obj []byte, path string) string {
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
