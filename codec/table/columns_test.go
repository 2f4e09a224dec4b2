package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sjson "sluice/codec/json"
)

// testNow is ten minutes after the creation of the objects in these tests.
var testNow = time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)

// undocumented are the columns that the apiserver leaves without a description.
var undocumented = []string{"BinaryVersion", "EmulationVersion", "Handler"}

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

func TestEveryDefinitionHasTheFieldsDescription(t *testing.T) {
	for of, c := range known {
		for _, col := range c.columns {
			if (col.doc == "") != slices.Contains(undocumented, col.name) {
				t.Errorf("%v: column %q has the description %q", of, col.name, col.doc)
			}
		}
		if !json.Valid(c.AppendDefinitions(nil)) {
			t.Errorf("%v: definitions are not JSON", of)
		}
	}
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
	for _, gvk := range []groupVersionKind{
		{"", "v2", "Pod"}, {"apps", "v1beta1", "Deployment"}, {"example.com", "v1", "Pod"}, {"", "v1", "Binding"},
	} {
		if _, ok := Builtin(gvk.group, gvk.version, gvk.kind); ok {
			t.Errorf("%v has columns", gvk)
		}
	}
}

// Release 1.36 serves other columns of one of these kinds and other words in the other.
func TestColumnsMatchTheDefinitionsOfTheRelease(t *testing.T) {
	binding, _ := Builtin("rbac.authorization.k8s.io", "v1", "RoleBinding")
	now := string(binding.AppendDefinitions(nil))
	formerly := strings.Replace(now, `"roleRef can`, `"RoleRef can`, 1)
	newest, _ := Builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
	const rbac, crds = "rbac.authorization.k8s.io/RoleBinding", "apiextensions.k8s.io/CustomResourceDefinition"
	for _, tt := range []struct {
		name, kind, served string
		known              bool
	}{
		{"as today", rbac, now, true},
		{"former words", rbac, formerly, true},
		{"unknown words", rbac, strings.Replace(now, `"roleRef can`, `"roleRef may`, 1), false},
		{"another name", rbac, strings.Replace(formerly, `"Role"`, `"Ref"`, 1), false},
		{"another priority", rbac, strings.Replace(formerly, `"priority":1`, `"priority":2`, 1), false},
		{"fewer columns", rbac, now[:strings.LastIndex(now, ",{")] + "]", false},
		{"more columns", rbac, strings.TrimSuffix(now, "]") + "," + strings.TrimPrefix(now, "["), false},
		{"none", rbac, "", false},
		{"newest columns", crds, string(newest.AppendDefinitions(nil)), true},
		{"former columns", crds, string(Default().AppendDefinitions(nil)), true},
	} {
		group, kind, _ := strings.Cut(tt.kind, "/")
		c, ok := Matching(group, "v1", kind, sjson.Value(tt.served))
		if ok != tt.known || ok && string(c.AppendDefinitions(nil)) != tt.served {
			t.Errorf("%s: %v", tt.name, ok)
		}
	}
}

func TestRewordedColumnsPrintAsBefore(t *testing.T) {
	for of, c := range known {
		r := c.reworded(c.AppendDefinitions(nil))
		same := r.Sorted() == c.Sorted() && r.RepeatsDefinitions() == c.RepeatsDefinitions() && r.NullWhenEmpty() == c.NullWhenEmpty()
		if !same || (r.conditions == nil) != (c.conditions == nil) || string(r.AppendDefinitions(nil)) != string(c.AppendDefinitions(nil)) {
			t.Errorf("%s differs", of)
		}
	}
}

func TestSortedAndRepeatedDefinitionsAreMarked(t *testing.T) {
	schema, _ := Builtin("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema")
	if !schema.Sorted() {
		t.Error("flow schemas are not sorted")
	}
	if Default().Sorted() {
		t.Error("the default columns are sorted")
	}
	service, _ := Builtin("apiregistration.k8s.io", "v1", "APIService")
	if !service.RepeatsDefinitions() || Default().RepeatsDefinitions() {
		t.Error("the wrong definitions are repeated")
	}
}

func TestPodsInAFinalPhaseHaveARowCondition(t *testing.T) {
	c, _ := Builtin("", "v1", "Pod")
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
	c, _ := Builtin("apps", "v1", "ControllerRevision")
	bad := sjson.Value(`{"metadata":{"name":"r","ownerReferences":[{"apiVersion":"a/b/c","kind":"K","name":"n","controller":true}]}}`)
	if got, err := c.AppendCells([]byte("before"), bad, testNow); err == nil || string(got) != "before" {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := c.AppendCells(nil, sjson.Value(`{"metadata":{"name":"r"}}`), testNow); err != nil {
		t.Errorf("the next object: %s, %v", got, err)
	}
}
