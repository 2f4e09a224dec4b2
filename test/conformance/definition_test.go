package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"sluice/test/harness"
)

// testCRDChanges changes a CRD in steps and reads its resource until the responses are equal:
// columns, selectable fields and scope follow the CRD.
func testCRDChanges(t *testing.T) {
	t.Parallel()
	const (
		crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		crd  = crds + "/rings.ex.io"
		in   = "/apis/ex.io/v1/rings"
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
			name: "created",
			writes: []Write{
				{Path: crds, Object: ringCRD("Namespaced", "RingList", `[]`, `[{"name":"Color","type":"string","jsonPath":".spec.color"}]`)},
				{Path: "/apis/ex.io/v1/namespaces/default/rings", Object: ring("a")},
			},
			row: Row{Path: in + "?resourceVersion=0", Accept: formats["table"], Status: 200, Source: "cache"},
		},
		{
			name:   "other column",
			writes: []Write{{Method: "PATCH", Path: crd, Object: ringCRD("Namespaced", "RingList", `[]`, `[{"name":"Size","type":"integer","jsonPath":".spec.size"}]`)}},
			row:    Row{Path: in + "?resourceVersion=0", Accept: formats["table"], Status: 200, Source: "cache", Shows: []string{"Size"}},
		},
		{
			name:   "selectable field",
			writes: []Write{{Method: "PATCH", Path: crd, Object: ringCRD("Namespaced", "RingList", `[{"jsonPath":".spec.color"}]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0&fieldSelector=spec.color%3Dred", Status: 200, Source: "cache", Shows: []string{`"a"`}},
		},
		{
			name:   "no selectable field",
			writes: []Write{{Method: "PATCH", Path: crd, Object: ringCRD("Namespaced", "RingList", `[]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0&fieldSelector=spec.color%3Dred", Status: 400, Source: "upstream"},
		},
		{
			name:   "other list kind",
			writes: []Write{{Method: "PATCH", Path: crd, Object: ringCRD("Namespaced", "Rings", `[]`, `[]`)}},
			row:    Row{Path: in + "?resourceVersion=0", Status: 200, Source: "cache", Shows: []string{`"Rings"`}},
		},
		{
			name:   "deleted",
			writes: []Write{{Method: "DELETE", Path: crd}},
			row:    Row{Path: in + "?resourceVersion=0", Status: 404, Source: "upstream"},
		},
		{
			name: "created with another scope",
			writes: []Write{
				{Path: crds, Object: ringCRD("Cluster", "RingList", `[]`, `[]`)},
				{Path: in, Object: ring("b")},
			},
			row: Row{Path: in + "?resourceVersion=0", Accept: formats["table"], Status: 200, Source: "cache", Shows: []string{`"b"`}},
		},
	}
	for _, s := range steps {
		for _, w := range s.writes {
			if err := w.sendWhenServed(t.Context(), apiserver); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
		}
		harness.Eventually(t, "CRD "+s.name, func() error { return s.row.compare(t) })
	}
}

// compare is check for polling: it returns an error unless the responses are as expected, and
// equal.
func (r Row) compare(t *testing.T) error {
	if _, wrong := r.exchange(t.Context(), apiserver, sluice); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// ringCRD returns the CRD of rings.ex.io, without apiVersion and kind.
func ringCRD(scope, listKind, fields, columns string) json.RawMessage {
	return fmt.Appendf(nil, `{"metadata":{"name":"rings.ex.io"},"spec":{"group":"ex.io","scope":%q,"names":{"plural":"rings","kind":"Ring","listKind":%q},
		"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":%s,"additionalPrinterColumns":%s,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"integer"}}}}}}}]}}`,
		scope, listKind, fields, columns)
}
