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
		in   = "/apis/ex.io/v1/rings?resourceVersion=0"
	)
	ring := func(name string) json.RawMessage {
		return fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Ring","metadata":{"name":%q},"spec":{"color":"red","size":3}}`, name)
	}
	change := func(listKind, fields, columns string) []Write {
		return []Write{{"PATCH", crd, ringCRD("Namespaced", listKind, fields, columns)}}
	}
	for _, s := range []struct {
		name   string
		writes []Write
		row    Row
	}{
		{"created", []Write{
			{Path: crds, Object: ringCRD("Namespaced", "RingList", `[]`, `[{"name":"Color","type":"string","jsonPath":".spec.color"}]`)},
			{Path: "/apis/ex.io/v1/namespaces/default/rings", Object: ring("a")},
		}, Row{Path: in, Accept: formats["table"]}},
		{"other column", change("RingList", `[]`, `[{"name":"Size","type":"integer","jsonPath":".spec.size"}]`),
			Row{Path: in, Accept: formats["table"], Shows: []string{"Size"}}},
		{"selectable field", change("RingList", `[{"jsonPath":".spec.color"}]`, `[]`),
			Row{Path: in + "&fieldSelector=spec.color%3Dred", Shows: []string{`"a"`}}},
		{"no selectable field", change("RingList", `[]`, `[]`),
			Row{Path: in + "&fieldSelector=spec.color%3Dred", Status: 400, Source: "upstream"}},
		{"other list kind", change("Rings", `[]`, `[]`), Row{Path: in, Shows: []string{`"Rings"`}}},
		{"deleted", []Write{{Method: "DELETE", Path: crd}}, Row{Path: in, Status: 404, Source: "upstream"}},
		{"created with another scope", []Write{
			{Path: crds, Object: ringCRD("Cluster", "RingList", `[]`, `[]`)},
			{Path: "/apis/ex.io/v1/rings", Object: ring("b")},
		}, Row{Path: in, Accept: formats["table"], Shows: []string{`"b"`}}},
	} {
		mustSend(t, apiserver, s.writes...)
		row := s.row.expand()[0] // with its defaults
		harness.Eventually(t, "CRD "+s.name, func() error { return row.compare(t) })
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
