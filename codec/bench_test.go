package codec

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/watch"

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
	{"JSON without managedFields", Protobuf, Format{Unmanaged: true}},
	{"JSON from JSON without managedFields", JSON, Format{Unmanaged: true}},
	{"Protobuf without managedFields", Protobuf, Format{Encoding: Protobuf, Unmanaged: true}},
	{"CBOR without managedFields", Protobuf, Format{Encoding: CBOR, Unmanaged: true}},
	{"metadata Protobuf without managedFields", Protobuf, Format{Shape: Metadata, Encoding: Protobuf, Unmanaged: true}},
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

// BenchmarkEvent writes one watch event.
func BenchmarkEvent(b *testing.B) {
	for _, row := range benchFormats {
		w := benchWriter(b, row.source, row.format)
		if row.format.Encoding == YAML || row.format.Pretty {
			continue
		}
		src := stored(b, realPod(b), row.source)
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			var err error
			for b.Loop() {
				if dst, err = w.AppendEvent(dst[:0], string(watch.Modified), src, false); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

// BenchmarkApimachinery encodes lists of 100 such pods, decoded, as the apiserver does; times are per list.
func BenchmarkApimachinery(b *testing.B) {
	const n = 100
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	var objs []metav1.Object
	for i := range n {
		p := realPod(b)
		p.Name = fmt.Sprint("p", i)
		list.Items = append(list.Items, *p)
		objs = append(objs, p)
	}
	for _, row := range []struct {
		name    string
		encoder runtime.Encoder
		object  runtime.Object
	}{
		{"JSON", encoderFor(Format{}), list},
		{"pretty JSON", encoderFor(Format{Pretty: true}), list},
		{"Protobuf", encoderFor(Format{Encoding: Protobuf}), list},
		{"CBOR", cbor.NewSerializer(nil, nil), list},
		{"YAML", encoderFor(Format{Encoding: YAML}), list},
		{"metadata JSON", encoderFor(Format{}), partials(objs, metav1.ListMeta{}, MetaV1)},
		{"metadata Protobuf", encoderFor(Format{Encoding: Protobuf}), partials(objs, metav1.ListMeta{}, MetaV1)},
		{"metadata CBOR", cbor.NewSerializer(nil, nil), partials(objs, metav1.ListMeta{}, MetaV1)},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := row.encoder.Encode(row.object, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/pod")
		})
	}
}

// TestWriterDoesNotAllocatePerObject writes items and events into a buffer that is large enough.
func TestWriterDoesNotAllocatePerObject(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops buffers at random under the race detector")
	}
	for _, row := range benchFormats {
		if row.format.Encoding == YAML || row.source == JSON && row.format.Shape != Object {
			continue // by libraries
		}
		t.Run(row.name, func(t *testing.T) {
			w := benchWriter(t, row.source, row.format)
			src := stored(t, realPod(t), row.source)
			dst := make([]byte, 0, 1<<16)
			if n := testing.AllocsPerRun(200, func() {
				if _, err := w.AppendItem(dst, src); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("item: %v allocations", n)
			}
			if row.format.Pretty {
				return
			}
			if n := testing.AllocsPerRun(200, func() {
				if _, err := w.AppendEvent(dst, string(watch.Added), src, false); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("event: %v allocations", n)
			}
		})
	}
}
