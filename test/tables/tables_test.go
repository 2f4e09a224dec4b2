package tables

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	sjson "sluice/codec/json"
	"sluice/codec/table"
	"sluice/test/harness"
)

// empty maps resources without rows to the reason.
var empty = map[string]string{}

// undetermined maps resources to the objects that do not determine their cells, which depend on the rest of the response.
var undetermined = map[string][]string{
	"storage.k8s.io/v1/storageclasses": {"beta-default", "fast"},
}

// unprinted maps resources whose Tables are always left to the apiserver to the reason.
var unprinted = map[string]string{
	"autoscaling/v1/horizontalpodautoscalers": "version 1 lacks what the apiserver prints",
	"lifecycle.k8s.io/v1alpha1/evictions":     "they contain the time until a completion",
	"v1/componentstatuses":                    "they have no watch, so that they are never cached",
}

// noObject selects none. Discovery reads the definitions from such a Table, because rows may be very long.
const noObject = "resourceVersion=0&fieldSelector=metadata.name=-"

// determined returns the parameters by which a read of a resource leaves out what is undetermined.
func determined(l harness.Resource) string {
	var others []string
	for _, name := range undetermined[l.String()] {
		others = append(others, "metadata.name!="+name)
	}
	return "&fieldSelector=" + strings.Join(others, ",")
}

// columnsOf returns the columns of a resource as the apiserver describes them.
func columnsOf(t *testing.T, l harness.Resource) *table.Columns {
	t.Helper()
	c, ok := knownColumns(t, l)
	if !ok {
		t.Fatalf("no columns for %s %s", l.GV, l.API.Kind)
	}
	return c
}

func knownColumns(t *testing.T, l harness.Resource) (*table.Columns, bool) {
	t.Helper()
	body, _, _ := get(t, l.Path("")+"?"+noObject, asTable)
	info, err := server.Client("admin").Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	release, err := strconv.Atoi(info.Minor)
	if err != nil {
		t.Fatal(err)
	}
	return table.Builtin(l.GV.Group, l.GV.Version, l.API.Kind, release, sjson.Value(body).Get("columnDefinitions"))
}

func TestTablesOfBuiltinResourcesEqualTheApiservers(t *testing.T) {
	for _, l := range builtin(t) {
		t.Run(l.String(), func(t *testing.T) {
			if unprinted[l.String()] != "" {
				if c, ok := knownColumns(t, l); ok {
					t.Errorf("has columns: %s", c.AppendDefinitions(nil))
				}
				return
			}
			c := columnsOf(t, l)
			for _, name := range undetermined[l.String()] {
				checkUndetermined(t, c, l.Path("")+"?fieldSelector=metadata.name="+name)
			}
			rows := checkTable(t, c, l.Path("")+"?includeObject=Object"+determined(l))
			if why := empty[l.String()]; (len(rows) == 0) != (why != "") {
				t.Errorf("%d rows; expected to be empty because: %q", len(rows), why)
			}
			checkTable(t, c, l.Path("")+"?"+noObject)
			if len(rows) > 0 {
				checkTable(t, c, objectPath(l, rows[0])+"?includeObject=Object")
			}
		})
	}
}

// objectPath returns the URL path of a row's object.
func objectPath(l harness.Resource, row tableRow) string {
	object := sjson.Value(row.Object)
	ns, _ := object.Get("metadata", "namespace").Text()
	name, _ := object.Get("metadata", "name").Text()
	return l.Path(ns) + "/" + name
}

// checkUndetermined expects an error instead of guessed cells.
func checkUndetermined(t *testing.T, c *table.Columns, url string) {
	t.Helper()
	for _, item := range items(t, url) {
		if cells, err := c.AppendCells(nil, item, noTime); !errors.Is(err, table.ErrUndetermined) {
			t.Errorf("got %s, %v", cells, err)
		}
	}
}

func items(t *testing.T, url string) []sjson.Value {
	t.Helper()
	body, _, _ := get(t, url, "application/json")
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	values := make([]sjson.Value, len(list.Items))
	for i, item := range list.Items {
		values[i] = sjson.Value(item)
	}
	return values
}
