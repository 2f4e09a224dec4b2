package table

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sjson "sluice/codec/json"
)

// testNow is ten minutes after the creation of the objects in these tests.
var testNow = time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)

// known yields the columns of every built-in kind, in each arrangement.
func known(yield func(of string, c *Columns) bool) {
	for of, arrangements := range builtins {
		for i, c := range arrangements {
			if !yield(fmt.Sprint(of)+strings.Repeat(" formerly", i), c) {
				return
			}
		}
	}
}

// newest returns the newest columns of a built-in kind, without the apiserver's descriptions.
func newest(group, version, kind string) *Columns {
	return builtins[groupVersionKind{group, version, kind}][0]
}

// The object of a bookmark has a resource version and nothing else.
func TestEveryKindPrintsBookmarks(t *testing.T) {
	for of, c := range known {
		for _, src := range []string{`{}`, `{"metadata":{"resourceVersion":"5","creationTimestamp":null}}`} {
			cells, err := c.AppendCells(nil, sjson.Value(src), testNow)
			if err != nil || !json.Valid(cells) {
				t.Errorf("%v: %s, %v", of, cells, err)
			}
		}
	}
}

func TestUnknownKindsHaveNoColumns(t *testing.T) {
	definitions := Default().AppendDefinitions(nil)
	if _, ok := Builtin("", "v1", "LimitRange", 37, definitions); !ok {
		t.Error("limit ranges have no columns")
	}
	for _, gvk := range []groupVersionKind{
		{"", "v2", "LimitRange"}, {"apps", "v1", "LimitRange"}, {"example.com", "v1", "LimitRange"}, {"", "v1", "Binding"},
	} {
		if _, ok := Builtin(gvk.group, gvk.version, gvk.kind, 37, definitions); ok {
			t.Errorf("%v has columns", gvk)
		}
	}
}

// described returns definitions with other descriptions.
func described(t *testing.T, definitions []byte, doc string) string {
	t.Helper()
	var all []metav1.TableColumnDefinition
	if err := json.Unmarshal(definitions, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Description = doc
	}
	return encode(t, all)
}

func TestColumnsHaveTheDescriptionsOfTheApiserver(t *testing.T) {
	for of, c := range known {
		definitions := described(t, c.AppendDefinitions(nil), "words <b>\u2028 of 1.99")
		as, ok := c.As(sjson.Value(definitions))
		if !ok || string(as.AppendDefinitions(nil)) != definitions {
			t.Errorf("%s: %v", of, ok)
			continue
		}
		same := as.Sorted() == c.Sorted() && as.RepeatsDefinitions() == c.RepeatsDefinitions() && as.NullWhenEmpty() == c.NullWhenEmpty()
		if !same || (as.conditions == nil) != (c.conditions == nil) || len(as.columns) != len(c.columns) {
			t.Errorf("%s prints otherwise", of)
		}
		if old := string(c.AppendDefinitions(nil)); strings.Contains(old, "1.99") {
			t.Errorf("%s has changed to %s", of, old)
		}
	}
}

// Release 1.36 serves other columns of CRDs.
func TestColumnsMustBeThoseOfAKnownRelease(t *testing.T) {
	bindings := newest("rbac.authorization.k8s.io", "v1", "RoleBinding")
	now := string(bindings.AppendDefinitions(nil))
	crds := newest("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
	const binding, crd = "rbac.authorization.k8s.io/RoleBinding", "apiextensions.k8s.io/CustomResourceDefinition"
	for _, tt := range []struct {
		name, kind, served string
		known              bool
	}{
		{"as today", binding, now, true},
		{"other words", binding, described(t, []byte(now), "w"), true},
		{"another name", binding, strings.Replace(now, `"Role"`, `"Ref"`, 1), false},
		{"another type", binding, strings.Replace(now, `"type":"string"`, `"type":"integer"`, 1), false},
		{"another format", binding, strings.Replace(now, `"format":"name"`, `"format":""`, 1), false},
		{"another priority", binding, strings.Replace(now, `"priority":1`, `"priority":2`, 1), false},
		{"another field", binding, strings.Replace(now, `"priority":1`, `"priority":1,"width":2`, 1), false},
		{"fewer columns", binding, now[:strings.LastIndex(now, ",{")] + "]", false},
		{"more columns", binding, strings.TrimSuffix(now, "]") + "," + strings.TrimPrefix(now, "["), false},
		{"none", binding, "", false},
		{"newest columns", crd, string(crds.AppendDefinitions(nil)), true},
		{"former columns", crd, string(Default().AppendDefinitions(nil)), true},
	} {
		group, kind, _ := strings.Cut(tt.kind, "/")
		c, ok := Builtin(group, "v1", kind, 37, sjson.Value(tt.served))
		if ok != tt.known || ok && string(c.AppendDefinitions(nil)) != tt.served {
			t.Errorf("%s: %v", tt.name, ok)
		}
	}
}

// Some cells depend on the release, although the columns do not.
func TestCellsAreThoseOfTheRelease(t *testing.T) {
	pod := `{"metadata":{"name":"p"},"spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[` +
		`{"state":{"terminated":{"reason":"Completed"}}},{"state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}}`
	node := `{"metadata":{"name":"n"},"status":{"nodeInfo":{"kernelVersion":"6.1","architecture":"arm64"}}}`
	class := `{"metadata":{"name":"c","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}}}`
	for _, tt := range []struct {
		group, kind, object string
		since               int
		before, after       string
	}{
		{"", "Pod", pod, 35, `"Completed"`, `"OOMKilled"`},
		{"", "Node", node, 36, `"6.1"`, `"6.1 (arm64)"`},
		{"networking.k8s.io", "IngressClass", class, 36, `"c"`, `"c (default)"`},
	} {
		definitions := newest(tt.group, "v1", tt.kind).AppendDefinitions(nil)
		if _, ok := Builtin(tt.group, "v1", tt.kind, 0, definitions); ok {
			t.Errorf("%s: cells of an unknown release are known", tt.kind)
		}
		for release, want := range map[int]string{tt.since - 1: tt.before, tt.since: tt.after, tt.since + 9: tt.after} {
			c, _ := Builtin(tt.group, "v1", tt.kind, release, definitions)
			cells, err := c.AppendCells(nil, sjson.Value(tt.object), testNow)
			if err != nil || !strings.Contains(string(cells), want) {
				t.Errorf("%s of 1.%d: %s, %v, want %s", tt.kind, release, cells, err, want)
			}
		}
	}
}

// The apiserver may serve by the CRD before.
func TestColumnsOfCustomResourcesHaveTheDescriptionsOfTheirCRD(t *testing.T) {
	c, err := Custom([]PrinterColumn{
		{Name: "A", Type: "string", JSONPath: ".spec.a", Description: "The a."}, {Name: "B", Type: "string", JSONPath: ".spec.b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	served := func(a, b string) string {
		return `[{"name":"Name","type":"string","format":"name","description":"Words.","priority":0},` +
			`{"name":"A","type":"string","format":"","description":"` + a + `","priority":0},` +
			`{"name":"B","type":"string","format":"","description":"` + b + `","priority":0}]`
	}
	for _, tt := range []struct {
		name, definitions string
		known             bool
	}{
		{"of the CRD", served("The a.", "Words: .spec.b"), true},
		{"of a column before", served("An a.", "Words: .spec.b"), false},
		{"of a path before", served("The a.", "Words: .spec.c"), false},
	} {
		as, ok := c.As(sjson.Value(tt.definitions))
		if ok != tt.known || ok && string(as.AppendDefinitions(nil)) != tt.definitions {
			t.Errorf("%s: %v", tt.name, ok)
		}
	}
}

func TestSortedAndRepeatedDefinitionsAreMarked(t *testing.T) {
	schema := newest("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema")
	if !schema.Sorted() {
		t.Error("flow schemas are not sorted")
	}
	if Default().Sorted() {
		t.Error("the default columns are sorted")
	}
	service := newest("apiregistration.k8s.io", "v1", "APIService")
	if !service.RepeatsDefinitions() || Default().RepeatsDefinitions() {
		t.Error("the wrong definitions are repeated")
	}
}

func TestPodsInAFinalPhaseHaveARowCondition(t *testing.T) {
	c := newest("", "v1", "Pod")
	for phase, want := range map[string]string{
		"Running":   ``,
		"Succeeded": `[{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}]`,
		"Failed":    `[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}]`,
	} {
		if got := c.AppendConditions(nil, sjson.Value(`{"status":{"phase":"`+phase+`"}}`)); string(got) != want {
			t.Errorf("%s: got %s", phase, got)
		}
	}
	if got := Default().AppendConditions(nil, sjson.Value(`{"status":{"phase":"Failed"}}`)); len(got) != 0 {
		t.Errorf("default: got %s", got)
	}
}

func TestErrorsLeaveDstUnchanged(t *testing.T) {
	c := newest("apps", "v1", "ControllerRevision")
	bad := sjson.Value(`{"metadata":{"name":"r","ownerReferences":[{"apiVersion":"a/b/c","kind":"K","name":"n","controller":true}]}}`)
	if got, err := c.AppendCells([]byte("before"), bad, testNow); err == nil || string(got) != "before" {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := c.AppendCells(nil, sjson.Value(`{"metadata":{"name":"r"}}`), testNow); err != nil {
		t.Errorf("the next object: %s, %v", got, err)
	}
}
