package codec

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice/codec/projection"
	"sluice/test/support/jsontest"
)

// realPod is a running pod of a deployment, 7.4 KB in JSON, decoded.
func realPod(t testing.TB) *corev1.Pod {
	for _, f := range jsontest.Realistic() {
		if f.Name == "pod" {
			p := new(corev1.Pod)
			if err := json.Unmarshal(f.JSON, p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatal("no pod")
	return nil
}

var benchFormats = []struct {
	name   string
	source Encoding
	format Format
}{
	{"JSON", Protobuf, Format{}},
	{"JSON from JSON", JSON, Format{}},
	{"pretty JSON", Protobuf, Format{Pretty: true}},
	{"Protobuf", Protobuf, Format{Encoding: Protobuf}},
	{"CBOR", Protobuf, Format{Encoding: CBOR}},
	{"metadata CBOR from JSON", JSON, Format{Shape: Metadata, Encoding: CBOR}},
	{"YAML", Protobuf, Format{Encoding: YAML}},
	{"metadata JSON", Protobuf, Format{Shape: Metadata}},
	{"metadata JSON from JSON", JSON, Format{Shape: Metadata}},
	{"metadata Protobuf", Protobuf, Format{Shape: Metadata, Encoding: Protobuf}},
	{"metadata Protobuf from JSON", JSON, Format{Shape: Metadata, Encoding: Protobuf}},
	{"metadata CBOR", Protobuf, Format{Shape: Metadata, Encoding: CBOR}},
	{"JSON of two fields", Protobuf, Format{Projection: "keep=spec.nodeName+status.podIP"}},
	{"JSON of two fields from JSON", JSON, Format{Projection: "keep=spec.nodeName+status.podIP"}},
	{"Protobuf of two fields", Protobuf, Format{Encoding: Protobuf, Projection: "keep=spec.nodeName+status.podIP"}},
	{"JSON without managedFields", Protobuf, Format{Projection: projection.WithoutManagedFields}},
	{"JSON from JSON without managedFields", JSON, Format{Projection: projection.WithoutManagedFields}},
	{"Protobuf without managedFields", Protobuf, Format{Encoding: Protobuf, Projection: projection.WithoutManagedFields}},
	{"CBOR without managedFields", Protobuf, Format{Encoding: CBOR, Projection: projection.WithoutManagedFields}},
	{"metadata Protobuf without managedFields", Protobuf, Format{Shape: Metadata, Encoding: Protobuf, Projection: projection.WithoutManagedFields}},
	{"Table", Protobuf, Format{Shape: Table}},
	{"Table with objects", Protobuf, Format{Shape: Table, Include: IncludeObject}},
	{"Table from JSON", JSON, Format{Shape: Table}},
}

func benchResource(source Encoding) *Resource {
	if source == JSON {
		return podsJSON
	}
	return podsProto
}

func benchWriter(t testing.TB, source Encoding, f Format) *Writer {
	w, err := NewWriter(benchResource(source), f)
	if err != nil {
		t.Fatal(err)
	}
	return w.At(time.Now())
}

// BenchmarkItem writes one item of a list of pods.
func BenchmarkItem(b *testing.B) {
	for _, row := range benchFormats {
		w := benchWriter(b, row.source, row.format)
		src := stored(b, realPod(b), row.source)
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			var err error
			for b.Loop() {
				if dst, err = w.AppendItem(dst[:0], src); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}
