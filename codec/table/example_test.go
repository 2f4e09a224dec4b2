package table_test

import (
	"fmt"
	"time"

	"sluice/codec/json"
	"sluice/codec/table"
)

// A built-in kind prints the cells that the apiserver prints, with the apiserver's descriptions of the columns. kubectl hides
// the columns with priority 1.
func ExampleBuiltin() {
	definitions := json.Value(`[{"name":"Name","type":"string","format":"name","description":"The name.","priority":0},` +
		`{"name":"Data","type":"string","format":"","description":"The data.","priority":0},` +
		`{"name":"Age","type":"string","format":"","description":"The age.","priority":0}]`)
	columns, _ := table.Builtin("", "v1", "ConfigMap", 37, definitions)
	object := json.Value(`{"metadata":{"name":"settings","creationTimestamp":"2026-11-20T12:00:00Z"},"data":{"a":"1","b":"2"}}`)
	now := time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)

	cells, err := columns.AppendCells(nil, object, now)
	fmt.Println(string(cells), err)
	// Output: ["settings",2,"10m"] <nil>
}

// The columns of a custom resource come from the additionalPrinterColumns of its CRD.
func ExampleCustom() {
	columns, err := table.Custom([]table.PrinterColumn{
		{Name: "Replicas", Type: "integer", JSONPath: ".spec.replicas"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	object := json.Value(`{"metadata":{"name":"web"},"spec":{"replicas":3},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)

	cells, err := columns.AppendCells(nil, object, time.Now())
	fmt.Println(string(cells), err)
	// Output: ["web",3,"True"] <nil>
}

// A path whose result depends on the iteration order of a Go map is refused.
func ExampleCustom_refused() {
	_, err := table.Custom([]table.PrinterColumn{{Name: "Any", Type: "string", JSONPath: ".spec.*"}})
	fmt.Println(err)
	// Output: column "Any": path ".spec.*": unsupported JSONPath
}
