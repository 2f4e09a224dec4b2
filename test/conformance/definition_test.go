package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"sluice/test/harness"
)

// testDefinitions changes a CRD step by step and reads its resource until the
// cache answers as the apiserver does: columns, fields and even scope follow
// the definition.
func testDefinitions(t *testing.T) {
	t.Parallel()
	const (
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		definition  = definitions + "/rings.ex.io"
		in          = "/apis/ex.io/v1/rings"
		table       = "application/json;as=Table;v=v1;g=meta.k8s.io"
	)
	ring := func(name string) json.RawMessage {
		return fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Ring","metadata":{"name":%q},"spec":{"color":"red","size":3}}`, name)
	}
	steps := []struct {
		name   string
		writes []Write
		row    Row
	}{
		{
			name: "is made",
			writes: []Write{
				{Path: definitions, Object: ringDefinition("Namespaced", "RingList", `[]`, `[{"name":"Color","type":"string","jsonPath":".spec.color"}]`)},
				{Path: "/apis/ex.io/v1/namespaces/default/rings", Object: ring("a")},
			},
			row: Row{Path: in + "?resourceVersion=0", Accept: table, Status: 200, Source: "cache"},
		},
		{
			name:   "gets another column",
			writes: []Write{{Method: "PATCH", Path: definition, Object: ringDefinition("Namespaced", "RingList", `[]`, `[{"name":"Size","type":"integer","jsonPath":".spec.size"}]`)}},
			row:    Row{Path: in + "?resourceVersion=0", Accept: table, Status: 200, Source: "cache", Shows: []string{"Size"}},
		},
		{
			name:   "gets a field",
			writes: []Write{{Method: "PATCH", Path: definition, Object: ringDefinition("Namespaced", "RingList", `[{"jsonPath":".spec.color"}]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0&fieldSelector=spec.color%3Dred", Status: 200, Source: "cache", Shows: []string{`"a"`}},
		},
		{
			name:   "loses the field",
			writes: []Write{{Method: "PATCH", Path: definition, Object: ringDefinition("Namespaced", "RingList", `[]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0&fieldSelector=spec.color%3Dred", Status: 400, Source: "upstream"},
		},
		{
			name:   "changes the name of its lists",
			writes: []Write{{Method: "PATCH", Path: definition, Object: ringDefinition("Namespaced", "Rings", `[]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0", Status: 200, Source: "cache", Shows: []string{`"Rings"`}},
		},
		{
			name:   "is deleted",
			writes: []Write{{Method: "DELETE", Path: definition}},
			row:    Row{Path: in + "?resourceVersion=0", Status: 404, Source: "upstream"},
		},
		{
			name: "is back with another scope",
			writes: []Write{
				{Path: definitions, Object: ringDefinition("Cluster", "RingList", `[]`, `[]`)},
				{Path: in, Object: ring("b")},
			},
			row: Row{Path: in + "?resourceVersion=0", Accept: table, Status: 200, Source: "cache", Shows: []string{`"b"`}},
		},
	}
	for _, s := range steps {
		for _, w := range s.writes {
			if err := w.sendWhenServed(t.Context(), plane); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
		}
		harness.Eventually(t, "the definition "+s.name, func() error { return s.row.compare(t) })
	}
}

// compare is check for what is asked again and again: it returns an error unless the answers are those expected, and equal.
func (r Row) compare(t *testing.T) error {
	want, err := r.upstream().ask(t.Context(), plane)
	if err != nil {
		return err
	}
	got, err := r.ask(t.Context(), sluice)
	if err != nil {
		return err
	}
	if text := r.unexpected(want); text != "" {
		return errors.New(text)
	}
	if text := r.difference(want, got); text != "" {
		return errors.New(text)
	}
	return nil
}

func ringDefinition(scope, listKind, fields, columns string) json.RawMessage {
	return fmt.Appendf(nil, `{"metadata":{"name":"rings.ex.io"},"spec":{"group":"ex.io","scope":%q,"names":{"plural":"rings","kind":"Ring","listKind":%q},
		"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":%s,"additionalPrinterColumns":%s,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"integer"}}}}}}}]}}`,
		scope, listKind, fields, columns)
}
