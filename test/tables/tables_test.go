package tables

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	sjson "sluice/codec/json"
	"sluice/codec/table"
)

// empty are resources that have no row to compare, and why.
var empty = map[string]string{}

// unordered are resources whose lists come in any order, and why.
var unordered = map[string]string{
	"v1/componentstatuses": "each is asked for at once, and they answer as they like",
}

// unprinted are objects whose cells their version does not determine.
var unprinted = map[string]string{
	"autoscaling/v1/horizontalpodautoscalers": "undetermined-in-v1",
}

// columnsOf returns the columns that a resource's Tables have.
func columnsOf(t *testing.T, l listed) *table.Columns {
	t.Helper()
	c, ok := table.Builtin(l.gv.Group, l.gv.Version, l.kind.Kind)
	if !ok {
		t.Fatalf("no columns for %s %s", l.gv, l.kind.Kind)
	}
	return c
}

func TestBuiltinTables(t *testing.T) {
	for _, l := range builtin(t) {
		t.Run(l.String(), func(t *testing.T) {
			c := columnsOf(t, l)
			url := l.path() + "?includeObject=Object"
			if name := unprinted[l.String()]; name != "" {
				checkUndetermined(t, c, l.path()+"?fieldSelector=metadata.name="+name)
				url += "&fieldSelector=metadata.name!=" + name
			}
			rows := checkTable(t, c, url)
			if why := empty[l.String()]; (len(rows) == 0) != (why != "") {
				t.Errorf("%d rows; expected to be empty because: %q", len(rows), why)
			}
			checkItems(t, c, l, rows)
			if len(rows) > 0 {
				checkTable(t, c, objectPath(t, l, rows[0])+"?includeObject=Object")
			}
		})
	}
}

// objectPath is where the object of a row is.
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

// checkUndetermined expects that cells are refused rather than guessed.
func checkUndetermined(t *testing.T, c *table.Columns, url string) {
	t.Helper()
	for _, item := range items(t, url) {
		if cells, err := c.AppendCells(nil, item, noTime); !errors.Is(err, table.ErrUndetermined) {
			t.Errorf("got %s, %v", cells, err)
		}
	}
}

// checkItems prints the items of a plain list, which lack kind and apiVersion, and expects what the
// objects of the Table gave.
func checkItems(t *testing.T, c *table.Columns, l listed, rows []tableRow) {
	t.Helper()
	byVersion := make(map[string]sjson.Value)
	for _, row := range rows {
		byVersion[version(sjson.Value(row.Object))] = sjson.Value(row.Object)
	}
	t.Logf("%d rows", len(rows))
	list := items(t, l.path())
	if c.Sorted() {
		slices.SortStableFunc(list, c.Compare)
	}
	for i, item := range list {
		object, ok := byVersion[version(item)]
		if !ok {
			continue // written meanwhile, or unprinted
		}
		want, wantErr := c.AppendCells(nil, object, noTime)
		got, err := c.AppendCells(nil, item, noTime)
		if wantErr != nil || err != nil || string(got) != string(want) {
			t.Errorf("item %d: got %s, %v, want %s, %v", i, got, err, want, wantErr)
		}
	}
	if unordered[l.String()] == "" {
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
			continue // written meanwhile, or unprinted
		}
		if row < last {
			t.Errorf("item %d is row %d, after row %d", i, row, last)
		}
		last = row
	}
}

// version tells one state of one object from all others.
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
