package storage

import (
	"testing"

	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

const widgets = "/apis/custom.example.com/v1/widgets"

// widgetObjects have values of every type at the paths of the CRD's columns.
var widgetObjects = []string{
	`{"metadata":{"name":"empty"}}`,
	`{"metadata":{"name":"nulls"},"spec":{"color":null,"size":null,"ratio":null,"on":null,"parts":null,"big":null,"due":null}}`,
	`{"metadata":{"name":"usual","annotations":{"example.com/note":"n <1>"}},"spec":{"color":"red & \"blue\"","size":3,"ratio":0.25,"on":true,` +
		`"parts":[{"name":"p"},{"name":"q"}],"big":1e22,"due":"2036-01-01T00:00:00Z"},"status":{"conditions":[` +
		`{"type":"Synced","status":"True"},{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
	`{"metadata":{"name":"other-types"},"spec":{"color":7,"size":"7","ratio":3,"on":"true","parts":{},"big":12345678901234567890,"due":"soon"},` +
		`"status":{"conditions":[]}}`,
	`{"metadata":{"name":"more-types"},"spec":{"color":1.5,"size":7.9,"ratio":1e-7,"on":1,"parts":[],"big":[1,"x",{"a":null}],"due":"2026-01-01T00:00:00Z"},` +
		`"status":{"conditions":[{"status":"no type"},{"type":"Ready"}]}}`,
	`{"metadata":{"name":"large"},"spec":{"color":1000000,"size":1e300,"ratio":1e21,"on":false,"parts":["a","b"],"big":123456789.5,"due":""},` +
		`"status":{"conditions":"none"}}`,
	`{"metadata":{"name":"minus-zero"},"spec":{"color":-0,"size":-0.0,"ratio":-0.0,"on":-0,"parts":[-0],"big":-0e0,"due":-0}}`,
}

// makeWidgets creates the CRD and the objects.
func makeWidgets(t *testing.T) {
	t.Helper()
	definition, err := yaml.YAMLToJSON([]byte(harness.Read(t, "test/storage/testdata/custom.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	server.MustCreate(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(definition))
	for _, object := range widgetObjects {
		server.MustCreate(t, "/apis/custom.example.com/v1/namespaces/default/widgets",
			`{"apiVersion":"custom.example.com/v1","kind":"Widget",`+object[1:])
	}
}
