package table

import (
	"encoding/json"
	"testing"

	sjson "sluice/codec/json"
)

// FuzzCells prints any bytes with the columns of every kind: nothing may panic, and the cells of valid
// JSON must be valid JSON.
func FuzzCells(f *testing.F) {
	for _, p := range printings {
		f.Add([]byte(p.object))
	}
	f.Add([]byte(widget))
	f.Add([]byte(`{"metadata":[],"spec":{"containers":{"a":1},"metrics":[1,{"type":"Pods"}]},"status":{"conditions":[null,1,"x",[]]}}`))
	custom, err := Custom([]PrinterColumn{
		{Name: "A", Type: "string", JSONPath: ".spec.list[*].tags[1:]"},
		{Name: "B", Type: "number", JSONPath: `.status.conditions[?(@.type!="x")].status`},
		{Name: "C", Type: "date", JSONPath: ".spec"},
	})
	if err != nil {
		f.Fatal(err)
	}
	all := []*Columns{custom}
	for _, c := range known {
		all = append(all, c)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		valid := sjson.Valid(src, 0) == nil
		for _, c := range all {
			got, err := c.AppendCells(nil, sjson.Value(src), testNow)
			if valid && err == nil && !json.Valid(got) {
				t.Fatalf("%s is not JSON", got)
			}
			c.AppendConditions(nil, sjson.Value(src))
		}
	})
}

// FuzzJSONPath compiles any path and evaluates those that are accepted.
func FuzzJSONPath(f *testing.F) {
	for _, p := range append(append([]string(nil), customPaths...), refusedPaths...) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		c, err := Custom([]PrinterColumn{{Name: "C", Type: "string", JSONPath: path}})
		if err != nil {
			return
		}
		if got, err := c.AppendCells(nil, sjson.Value(widget), testNow); err != nil || !json.Valid(got) {
			t.Fatalf("%s, %v", got, err)
		}
	})
}
