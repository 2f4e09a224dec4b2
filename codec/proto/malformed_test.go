package proto

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// walks are the three walks over a raw object.
func walks(m *Schema) map[string]func([]byte) error {
	return map[string]func([]byte) error{
		"Check":      m.Check,
		"AppendJSON": func(b []byte) error { _, err := m.AppendJSON(nil, b); return err },
		"AppendCBOR": func(b []byte) error { _, err := m.AppendCBOR(nil, b); return err },
	}
}

func TestInvalidBytesGiveTheirError(t *testing.T) {
	const pod = "v1 Pod"
	for name, c := range map[string]struct {
		kind, in string
		want     error
	}{
		"cut tag":             {pod, "\x80", ErrTruncated},
		"tag alone":           {pod, "\x0a", ErrTruncated},
		"lying length":        {pod, "\x0a\x05\x0a\x00", ErrTruncated},
		"huge length":         {pod, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ErrTruncated},
		"length overflow":     {pod, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", ErrVarint},
		"endless varint":      {pod, "\x0a" + strings.Repeat("\xff", 20), ErrVarint},
		"field zero":          {pod, "\x02\x00", ErrTag},
		"number out of range": {pod, "\x80\x80\x80\x80\x10\x00", ErrTag},
		"group":               {pod, "\x0b", ErrTag},
		"wrong type":          {pod, "\x08\x00", ErrWireType},
		"empty for a number":  {pod, "\x0a\x02\x3a\x00", ErrWireType},
		"fixed32":             {pod, "\x0d\x00\x00\x00\x00", ErrWireType},
		"unknown top":         {pod, "\x7a\x00", ErrUnknownField},
		"unknown deep":        {pod, "\x0a\x04\x82\x7d\x01a", ErrUnknownField},
		"unknown in time":     {pod, "\x0a\x04\x42\x02\x18\x00", ErrUnknownField},
		"unknown in entry":    {pod, "\x0a\x04\x5a\x02\x1a\x00", ErrUnknownField},
		"number as key":       {pod, "\x0a\x04\x5a\x02\x08\x00", ErrWireType},
		"cut text":            {pod, "\x0a\x03\x0a\x05a", ErrTruncated},
		"message in parts":    {pod, "\x12\x00\x12\x00", ErrForm},
		"quantity":            {"v1 PersistentVolume", "\x12\x09\x0a\x07\x12\x05\x0a\x03abc", ErrValue},
		"type of a port":      {"v1 Service", "\x12\x13\x0a\x11\x22\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01\x1a\x00", ErrValue},
		"fields not JSON":     {pod, "\x0a\x08\x8a\x01\x05\x3a\x03\x0a\x01{", ErrValue},
		"fields in CBOR":      {pod, "\x0a\x0c\x8a\x01\x09\x3a\x07\x0a\x05\xa1\x42fa\xa0", ErrValue},
		"data in CBOR":        {"apps/v1 ControllerRevision", "\x12\x06\x0a\x04\xd9\xd9\xf7\xa0", ErrValue},
		"fields not in UTF-8": {pod, "\x0a\x08\x8a\x01\x05\x3a\x03\x0a\x01\xff", ErrValue},
	} {
		apiVersion, kind, _ := strings.Cut(c.kind, " ")
		for walk, f := range walks(mustLookup(t, apiVersion, kind)) {
			if err := f([]byte(c.in)); !errors.Is(err, c.want) {
				if c.want == ErrValue && walk == "AppendCBOR" && err != nil {
					continue // codec/cbor has errors of its own
				}
				t.Errorf("%s, %s: %v, want %v", name, walk, err, c.want)
			}
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	// spec.containers[0] with a field that no container has.
	err := mustLookup(t, "v1", "Pod").Check([]byte("\x12\x09\x12\x07\x0a\x01c\xfa\x7f\x01x"))
	if err == nil || !strings.Contains(err.Error(), "v1.Container field 2047") {
		t.Errorf("%v", err)
	}
}

// nested returns a CRD whose schema nests n levels deep; no other kind can.
func nested(n int) []byte {
	inner := []byte{}
	for range n {
		inner = append(protowire.AppendVarint([]byte{0xe2, 0x01}, uint64(len(inner))), inner...) // not: 28
	}
	for _, tag := range []byte{0x0a, 0x22, 0x3a, 0x12} { // openAPIV3Schema, schema, versions, spec
		inner = append(protowire.AppendVarint([]byte{tag}, uint64(len(inner))), inner...)
	}
	return inner
}

func TestNestingIsBounded(t *testing.T) {
	m := mustLookup(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition")
	for walk, f := range walks(m) {
		if err := f(nested(1000)); err != nil {
			t.Errorf("%s: %v", walk, err)
		}
		if err := f(nested(maxDepth)); !errors.Is(err, ErrTooDeep) {
			t.Errorf("%s: %v", walk, err)
		}
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := crd.Unmarshal(nested(10)); err != nil || crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Not == nil {
		t.Fatalf("the test object does not nest: %v", err)
	}
}

func TestMemoryIsBoundedByTheInput(t *testing.T) {
	m := mustLookup(t, "v1", "Pod")
	names := bytes.Repeat([]byte("\x0a\x00"), 100_000)
	in := append(protowire.AppendVarint([]byte{0x0a}, uint64(len(names))), names...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := m.AppendJSON(nil, in)
	runtime.ReadMemStats(&after)
	if err != nil || len(out) > 200 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

func TestErrorsLeaveDstUnchanged(t *testing.T) {
	m := mustLookup(t, "v1", "ConfigMap")
	for _, f := range []func(dst, raw []byte) ([]byte, error){m.AppendJSON, m.AppendJSONItem, m.AppendCBOR, m.AppendCBORItem} {
		good := raw(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		if dst, err := f([]byte("kept"), append(good, 0x7a, 0)); err == nil || string(dst) != "kept" {
			t.Errorf("%q, %v", dst, err)
		}
	}
}
