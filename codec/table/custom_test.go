package table

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sjson "sluice/codec/json"
)

// widget has values of every type at the paths of customPaths.
const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"annotations":{"a.b/c":"dotted","n":null},` +
	`"creationTimestamp":"2026-11-20T12:00:00Z","name":"w<1>","namespace":"ns"},"spec":{"big":12345678901234567000,"bool":true,` +
	`"date":"2026-11-19T12:00:00.5+02:00","empty":"","emptylist":[],"f":1.5,"future":"2036-01-01T00:00:00Z","int":42,"large":1e+300,` +
	`"list":[{"name":"a","on":true,"port":80,"tags":["x","y"]},{"name":"b","on":false,"port":443,"tags":[]},{"name":"c","ratio":0.5}],` +
	`"map":{"k":"\u003cv\u003e","z":[1,2.5,"s"]},"negative":-7,"null":null,"nulls":[null,{"name":null}],"numbers":[3,1,4,1,5,9,2.5],` +
	`"small":1e-7,"text":"t\"\\\u003c\u2028é","words":["p","q","r"],"zero":0},"status":{"conditions":[` +
	`{"lastTransitionTime":"2026-11-20T11:00:00Z","message":"m","reason":"R","status":"True","type":"Ready"},` +
	`{"lastTransitionTime":"2026-11-20T10:00:00Z","status":"False","type":"Synced"},{"status":"Unknown","type":"Odd)"}]}}`

var customPaths = []string{
	".metadata.name", ".metadata.creationTimestamp", ".metadata.nothing", ".spec", ".spec.map", ".spec.list", ".", ".spec.",
	".metadata.annotations.a\\.b/c", ".metadata.annotations['a\\.b/c']", ".metadata.annotations.n",
	".spec.big", ".spec.bool", ".spec.date", ".spec.empty", ".spec.emptylist", ".spec.f", ".spec.future", ".spec.int",
	".spec.large", ".spec.map.k", ".spec.map.z", ".spec.negative", ".spec.null", ".spec.null.x", ".spec.small", ".spec.text", ".spec.zero",
	".spec.list[0].name", ".spec.list[2].name", ".spec.list[3].name", ".spec.list[-1].name", ".spec.list[-1:].name", ".spec.list[-4].name",
	".spec.list[*].name", ".spec.list[*].ratio", ".spec.list[*].tags[0]", ".spec.list[*].tags[*]", ".spec.list[1:].tags[*]",
	".spec.list[0:2].port", ".spec.list[:1].port", ".spec.list[::2].name", ".spec.list[1::1].name", ".spec.list[0:0].name", ".spec.list[2:1].name",
	".spec.list[].name", ".spec.list[::0].name", ".spec.list[0:9].name", ".spec.list[:-1].name", ".spec.emptylist[*].a", ".spec.emptylist[0]", ".spec.text[0]",
	".spec.nulls[0]", ".spec.nulls[*].name", ".spec.null[0]", ".spec['int']", ".spec['map.k']", ".spec.words[1]", ".spec.words",
	`.status.conditions[?(@.type=="Ready")].status`, `.status.conditions[?(@.type == 'Synced')].status`,
	`.status.conditions[?(@.type=="Ready")].lastTransitionTime`, `.status.conditions[?(@.type!="Ready")].type`,
	`.status.conditions[?(@.status=="Nope")].type`, `.status.conditions[?(@.reason)].message`, `.status.conditions[?(@.type=="Odd)")].status`,
	`.spec.list[?(@.port>100)].name`, `.spec.list[?(@.port<=80)].name`, `.spec.list[?(@.on==true)].name`, `.spec.list[?(@.on<true)].name`,
	`.spec.list[?(@.ratio==0.5)].name`, `.spec.list[?(@.ratio==1)].name`, `.spec.list[?(@.name>"a")].name`, `.spec.list[?(@.name==1)].name`,
	`.spec.numbers[?(@>3)]`, `.spec.numbers[?(@==1)]`, `.spec.words[?(@=="q")]`, `.spec.words[?(@)]`, `.spec.list[?(@.tags=="x")].name`,
	`.spec.list[?(@.map.k=="x")].name`, `.spec.map[?(@.k=="x")]`, `.spec.nothing[?(@.k=="x")]`, `.spec.null[?(@.k=="x")]`, `.spec.list[?(@.port==+80)].name`,
	`.spec.nulls[?(@.name==1)]`, `.spec.nulls[?(@.name)]`,
	".spec.int .spec.zero", ".spec.$", ".spec.@", ".spec.$.int",
	`.status.conditions[?(@.type=="a\"b")].status`, `.status.conditions[?(@.type==@.status)].type`, `.status.conditions[?(@.a[0]=="x")]`,
	`.spec.list[?(@.tags[0]=="x")].name`, `.spec.list[?(@.tags[*]=="x")].name`, `.spec.list[?(1==1)].name`, `.spec.list[?(@.on==true)].tags[-1:]`,
}

// refusedPaths are invalid, more than one expression, depend on the order of Go's maps, or are beyond the limits of a path.
var refusedPaths = []string{
	"", "spec.int", "..name", ".spec..name", ".*", ".spec.*", ".spec.list[a]", ".spec.list[+1]", ".spec.list[1", ".spec.list['a'b']",
	".spec.int}", ".spec.int}{.spec.zero", `.spec.int "text"`, ".spec.int 7", ".spec.int true", "{range .spec.list}", ".spec.int range",
	`.status.conditions[?(@.type=~"R.*")].status`, `.status.conditions[?(@.type=="Ready" && @.status=="True")].status`,
	`.status.conditions[?(@.type==Ready)].status`, `.status.conditions[?(@.*=="True")].status`, `.status.conditions[?(@..type=="Ready")].status`,
	`.status.conditions[?(@.type=="Ready"].status`, `.status.conditions[?(`, ".spec.list[1:2:3:4]", ".spec.list[-]",
	`.spec.list[0,1].name`, `.spec['int','zero']`, `.spec.list[?(@.tags[0,0]=="x")]`,
	strings.Repeat(".a", 70), ".spec." + strings.Repeat("a", 1<<10),
	`.status.conditions[?(==1)]`, `.status.conditions[?(@.type==)]`, ".spec.list['", ".spec.list[99999999999999999999]",
}

var customTypes = []string{"string", "integer", "number", "boolean", "date", "object"}

// convert prints obj with the apiserver's table convertor.
func convert(t *testing.T, declared []PrinterColumn, obj string) (definitions, cells string) {
	t.Helper()
	columns := make([]apiextensions.CustomResourceColumnDefinition, len(declared))
	for i, d := range declared {
		columns[i] = apiextensions.CustomResourceColumnDefinition(d)
	}
	c, err := tableconvertor.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(obj)); err != nil {
		t.Fatal(err)
	}
	table, err := c.ConvertToTable(context.Background(), u, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, table.ColumnDefinitions), encode(t, table.Rows[0].Cells)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// compareCustom compares with the convertor. It tries again if ages may have changed in between.
func compareCustom(t *testing.T, declared []PrinterColumn, obj string) {
	t.Helper()
	c, err := Custom(declared)
	if err != nil {
		t.Fatal(err)
	}
	for try := 0; ; try++ {
		definitions, want := convert(t, declared, obj)
		if as, ok := c.As(sjson.Value(definitions)); !ok || string(as.AppendDefinitions(nil)) != definitions {
			t.Fatalf("definitions:\n got %s\nwant %s", c.AppendDefinitions(nil), definitions)
		}
		got, err := c.AppendCells(nil, sjson.Value(obj), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if string(got) == want {
			return
		}
		if try == 3 {
			t.Fatalf("%s of %s:\n got %s\nwant %s", encode(t, declared), obj, got, want)
		}
	}
}

// The apiserver writes the float -0 as -0 in JSON, and stores read it from CBOR as -0.0. It writes the integer as 0.
func TestMinusZeroIsAFloat(t *testing.T) {
	object := func(n string) string { return `{"kind":"Widget","apiVersion":"example.com/v1","n":` + n + `}` }
	for _, typ := range customTypes {
		declared := []PrinterColumn{{Name: "C", Type: typ, JSONPath: ".n"}}
		for _, n := range []string{"-0.0", "-0.4", "-0e0"} {
			compareCustom(t, declared, object(n))
		}
		c, err := Custom(declared)
		if err != nil {
			t.Fatal(err)
		}
		_, want := convert(t, declared, object("-0.0"))
		if got, err := c.AppendCells(nil, sjson.Value(object("-0")), time.Now()); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", typ, got, err, want)
		}
	}
}

func TestCustomCellsEqualTheTableConvertors(t *testing.T) {
	for _, path := range customPaths {
		for _, typ := range customTypes {
			compareCustom(t, []PrinterColumn{{Name: "C", Type: typ, JSONPath: path}}, widget)
			compareCustom(t, []PrinterColumn{{Name: "C", Type: typ, JSONPath: path}}, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{}}`)
		}
	}
}

// Paths of one row share what is decoded.
func TestColumnsOfOneRowEqualTheTableConvertors(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		var declared []PrinterColumn
		for _, i := range rng.Perm(len(customPaths))[:1+rng.IntN(maxColumns)] {
			declared = append(declared, PrinterColumn{Name: "C", Type: customTypes[rng.IntN(len(customTypes))], JSONPath: customPaths[i]})
		}
		compareCustom(t, declared, widget)
		compareCustom(t, declared, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{},"spec":{"list":7,"map":null},"status":[]}`)
	}
}

// large has a list of many numbers, and a date that is long.
var large = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{},"spec":{"date":"2026-11-19T12:00:00.` + strings.Repeat("5", 20_000) +
	`Z","list":[{"name":"a"}` + strings.Repeat(",1", 20_000) + `],"lists":[[` + strings.Repeat("1,", 20_000) + `1]]}}`

// Columns may each print an object, or search all of it.
func TestRowsThatCostTooMuchAreRefused(t *testing.T) {
	for _, d := range []PrinterColumn{
		{Type: "string", JSONPath: ".spec"},
		{Type: "date", JSONPath: ".spec.date"},
		{Type: "string", JSONPath: ".spec.lists[0]"},
		{Type: "integer", JSONPath: ".spec.lists[0]"},
		{Type: "string", JSONPath: ".spec.list[*].name"},
		{Type: "string", JSONPath: `.spec.list[?(@==2)]`},
	} {
		columns := []PrinterColumn{d}
		compareCustom(t, columns, large)
		columns = slices.Repeat(columns, maxColumns)
		c, err := Custom(columns)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := c.AppendCells([]byte("x"), sjson.Value(large), time.Now())
		if err != nil && (!errors.Is(err, sjson.ErrSize) || string(dst) != "x") || cap(dst) > 2*maxRow {
			t.Errorf("%s as %s: %d bytes in %d bytes of memory, %v", d.JSONPath, d.Type, len(dst), cap(dst), err)
		}
		if refused := strings.Contains(d.JSONPath, "["); refused != (err != nil) {
			t.Errorf("%s as %s: %v", d.JSONPath, d.Type, err)
		}
		if _, err := Custom(append(columns, d)); !errors.Is(err, ErrPath) {
			t.Errorf("%d columns: %v", len(columns)+1, err)
		}
	}
}

func TestCustomColumnsKeepTheirDeclaration(t *testing.T) {
	compareCustom(t, []PrinterColumn{
		{Name: "A & B", Type: "integer", Format: "int32", Description: "<d>", Priority: 3, JSONPath: ".spec.int"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	}, widget)
}

func TestAgeIsTheColumnOfCRDsWithoutColumns(t *testing.T) {
	age := PrinterColumn{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}
	c, err := Custom(nil)
	if err != nil {
		t.Fatal(err)
	}
	definitions, want := convert(t, []PrinterColumn{age}, widget)
	if _, ok := c.As(sjson.Value(definitions)); !ok {
		t.Errorf("got %s, want %s", c.AppendDefinitions(nil), definitions)
	}
	if _, ok := c.As(sjson.Value(described(t, []byte(definitions), "Other words."))); !ok {
		t.Error("the description is not the apiserver's")
	}
	if got, err := c.AppendCells(nil, sjson.Value(widget), time.Now()); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestAmbiguousPathsAreRefused(t *testing.T) {
	for _, path := range refusedPaths {
		if _, err := Custom([]PrinterColumn{{Name: "C", Type: "string", JSONPath: path}}); !errors.Is(err, ErrPath) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// Every path that is accepted prints as the apiserver's convertor prints it, pieced together at random.
func TestRandomPathsEqualTheTableConvertors(t *testing.T) {
	pieces := []string{".spec", ".status", ".conditions", ".list", ".name", ".tags", ".nulls", ".numbers", ".words", ".map", ".k", ".null", ".",
		"[0]", "[1]", "[-1]", "[*]", "[1:]", "[:2]", "[-2:]", "[0:3:2]", "[5]", "[:0]", "['list']", "[0,1]", "['list','map']", ".$", `\.`, "..", "*", " ", "x",
		`[?(@.name=="a")]`, `[?(@.type!="Ready")]`, `[?(@>2)]`, `[?(@.port>=80)]`, `[?(@.tags)]`, `[?(@.on==false)]`, `[?(@.tags[0]=="x")]`, `[?(@.name==@.name)]`}
	starts := []string{".spec.list", ".spec", ".status.conditions", ".spec.numbers", ".spec.nulls", ""}
	rng := rand.New(rand.NewPCG(7, 8))
	accepted := 0
	for range 6000 {
		path := starts[rng.IntN(len(starts))]
		for range rng.IntN(5) {
			path += pieces[rng.IntN(len(pieces))]
		}
		if _, err := compilePath(path); err != nil || strings.HasPrefix(path, "[") {
			continue
		}
		accepted++
		compareCustom(t, []PrinterColumn{{Name: "C", Type: customTypes[rng.IntN(len(customTypes))], JSONPath: path}}, widget)
	}
	if accepted < 2000 {
		t.Errorf("only %d paths were accepted", accepted)
	}
}
