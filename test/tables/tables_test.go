package tables

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	sjson "sluice/codec/json"
	"sluice/codec/table"
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
func determined(l listed) string {
	var others []string
	for _, name := range undetermined[l.String()] {
		others = append(others, "metadata.name!="+name)
	}
	return "&fieldSelector=" + strings.Join(others, ",")
}

// columnsOf returns the columns of a resource as the apiserver describes them.
func columnsOf(t *testing.T, l listed) *table.Columns {
	t.Helper()
	c, ok := knownColumns(t, l)
	if !ok {
		t.Fatalf("no columns for %s %s", l.gv, l.kind.Kind)
	}
	return c
}

func knownColumns(t *testing.T, l listed) (*table.Columns, bool) {
	t.Helper()
	body, _, _ := get(t, l.path()+"?"+noObject, asTable)
	info, err := server.Client("admin").Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	release, err := strconv.Atoi(info.Minor)
	if err != nil {
		t.Fatal(err)
	}
	return table.Builtin(l.gv.Group, l.gv.Version, l.kind.Kind, release, sjson.Value(body).Get("columnDefinitions"))
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
				checkUndetermined(t, c, l.path()+"?fieldSelector=metadata.name="+name)
			}
			rows := checkTable(t, c, l.path()+"?includeObject=Object"+determined(l))
			if why := empty[l.String()]; (len(rows) == 0) != (why != "") {
				t.Errorf("%d rows; expected to be empty because: %q", len(rows), why)
			}
			checkTable(t, c, l.path()+"?"+noObject)
			checkItems(t, c, l, rows)
			if len(rows) > 0 {
				checkTable(t, c, objectPath(t, l, rows[0])+"?includeObject=Object")
			}
		})
	}
}

// objectPath returns the URL path of a row's object.
func objectPath(t *testing.T, l listed, row tableRow) string {
	t.Helper()
	object := sjson.Value(row.Object)
	ns, _ := object.Get("metadata", "namespace").Text()
	name, _ := object.Get("metadata", "name").Text()
	p := l.path()
	if l.kind.Namespaced {
		p = p[:len(p)-len(l.kind.Name)] + "namespaces/" + ns + "/" + l.kind.Name
	}
	return p + "/" + name
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

// checkItems prints the items of a plain list, which lack kind and apiVersion, and expects the cells of
// the same objects in the Table, in the order of the list unless the columns are sorted.
func checkItems(t *testing.T, c *table.Columns, l listed, rows []tableRow) {
	t.Helper()
	byVersion := make(map[string]sjson.Value)
	for _, row := range rows {
		byVersion[version(sjson.Value(row.Object))] = sjson.Value(row.Object)
	}
	t.Logf("%d rows", len(rows))
	list := items(t, l.path())
	for i, item := range list {
		object, ok := byVersion[version(item)]
		if !ok {
			continue // written since, or undetermined
		}
		want, wantErr := c.AppendCells(nil, object, noTime)
		got, err := c.AppendCells(nil, item, noTime)
		if wantErr != nil || err != nil || string(got) != string(want) {
			t.Errorf("item %d: got %s, %v, want %s, %v", i, got, err, want, wantErr)
		}
	}
	if !c.Sorted() {
		checkOrder(t, list, rows)
	}
}

// checkOrder expects the rows in the order of the list.
func checkOrder(t *testing.T, list []sjson.Value, rows []tableRow) {
	t.Helper()
	last := -1
	for i, item := range list {
		row := slices.IndexFunc(rows, func(r tableRow) bool { return version(sjson.Value(r.Object)) == version(item) })
		if row < 0 {
			continue // written since, or undetermined
		}
		if row < last {
			t.Errorf("item %d is row %d, after row %d", i, row, last)
		}
		last = row
	}
}

// version identifies one state of one object.
func version(object sjson.Value) string {
	v, _ := object.Get("metadata", "resourceVersion").Text()
	uid, _ := object.Get("metadata", "uid").Text()
	name, _ := object.Get("metadata", "name").Text()
	return name + "/" + uid + "/" + v
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
