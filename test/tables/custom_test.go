package tables

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sjson "sluice/codec/json"
	"sluice/codec/table"
	"sluice/test/harness"
)

const (
	widgets = "/apis/custom.example.com/v1/widgets"
	crd     = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.custom.example.com"
)

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

func TestTablesOfCustomResourcesEqualTheApiservers(t *testing.T) {
	makeWidgets(t)
	c := widgetColumns(t)
	if rows := checkTable(t, c["v1"], widgets+"?includeObject=Object"); len(rows) != len(widgetObjects) {
		t.Errorf("%d rows", len(rows))
	}
	checkTable(t, c["v1"], widgets+"?"+noObject)
	checkTable(t, c["v1beta1"], "/apis/custom.example.com/v1beta1/widgets?includeObject=Object")
	checkTable(t, c["v1"], "/apis/custom.example.com/v1/namespaces/"+namespace+"/widgets/usual?includeObject=Object")
}

// widgetColumns returns the columns of each version of the CRD.
func widgetColumns(t *testing.T) map[string]*table.Columns {
	t.Helper()
	body, _, _ := get(t, crd, "application/json")
	var definition struct {
		Spec struct {
			Versions []struct {
				Name                     string
				AdditionalPrinterColumns []table.PrinterColumn
			}
		}
	}
	if err := json.Unmarshal(body, &definition); err != nil {
		t.Fatal(err)
	}
	columns := make(map[string]*table.Columns)
	for _, v := range definition.Spec.Versions {
		declared, err := table.Custom(v.AdditionalPrinterColumns)
		if err != nil {
			t.Fatal(err)
		}
		body, _, _ := get(t, "/apis/custom.example.com/"+v.Name+"/widgets?"+noObject, asTable)
		var ok bool
		if columns[v.Name], ok = declared.As(sjson.Value(body).Get("columnDefinitions")); !ok {
			t.Fatalf("%s has other columns: %s", v.Name, body)
		}
	}
	return columns
}

// makeWidgets creates the objects as soon as the apiserver serves their kind.
func makeWidgets(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "widgets are served", func() error {
		w, err := newWriter(t.Context())
		if err != nil {
			return err
		}
		probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "custom.example.com/v1", "kind": "Widget"}}
		_, err = w.resource(probe)
		return err
	})
	w, err := newWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range widgetObjects {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(src), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetAPIVersion("custom.example.com/v1")
		u.SetKind("Widget")
		if err := w.write(u); err != nil && !apierrors.IsAlreadyExists(err) { // with -count
			t.Fatalf("%s: %v", u.GetName(), err)
		}
	}
}
