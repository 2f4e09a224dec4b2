package proto

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kcbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// A sample is a realistic object from testdata.
type sample struct {
	*Schema
	obj  message
	raw  []byte
	json int // length of its JSON
}

// load reads the samples, by kind in lower case.
func load(t testing.TB) map[string]sample {
	t.Helper()
	samples := map[string]sample{}
	for name, obj := range map[string]message{"pod": &corev1.Pod{}, "node": &corev1.Node{}, "configmap": &corev1.ConfigMap{}} {
		b, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, obj); err != nil {
			t.Fatal(err)
		}
		gvk := obj.GetObjectKind().GroupVersionKind()
		s := sample{Schema: mustLookup(t, "v1", gvk.Kind), obj: obj, raw: raw(t, obj)}
		js, err := s.AppendJSON(nil, s.raw)
		if err != nil {
			t.Fatal(err)
		}
		s.json = len(js)
		samples[name] = s
	}
	return samples
}

var jsonSerializer = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, nil, nil, kjson.SerializerOptions{})

// decoded returns the sample decoded by apimachinery, with its TypeMeta.
func (s sample) decoded(b *testing.B) runtime.Object {
	obj := s.obj
	obj.Reset()
	if err := obj.Unmarshal(s.raw); err != nil {
		b.Fatal(err)
	}
	obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(s.Kind))
	return obj
}

func BenchmarkJSON(b *testing.B) {
	benchmarkEncoding(b, func(s sample, dst []byte) ([]byte, error) { return s.AppendJSON(dst, s.raw) }, jsonSerializer)
}

func BenchmarkCBOR(b *testing.B) {
	benchmarkEncoding(b, func(s sample, dst []byte) ([]byte, error) { return s.AppendCBOR(dst, s.raw) }, kcbor.NewSerializer(nil, nil))
}

// benchmarkEncoding encodes the samples here and with a serializer of apimachinery.
func benchmarkEncoding(b *testing.B, encode func(s sample, dst []byte) ([]byte, error), serializer runtime.Encoder) {
	for name, s := range load(b) {
		b.Run(name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(s.json))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				var err error
				if dst, err = encode(s, dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/apimachinery", func(b *testing.B) {
			b.SetBytes(int64(s.json))
			b.ReportAllocs()
			var dst bytes.Buffer
			for b.Loop() {
				dst.Reset()
				if err := serializer.Encode(s.decoded(b), &dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, s := range load(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(s.json))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(s.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMetadata reads and reduces the metadata of a pod, and reads its fields.
func BenchmarkMetadata(b *testing.B) {
	pom := mustLookup(b, "meta.k8s.io/v1", "PartialObjectMetadata")
	s := load(b)["pod"]
	var dst []byte
	for name, f := range map[string]func(){
		"read":    func() { _, _ = ParseObjectMeta(s.raw) },
		"cut":     func() { _, _ = PartialObjectMetadata(s.raw) },
		"version": func() { dst, _ = AppendWithResourceVersion(dst[:0], s.raw, "7654321") },
		"JSON": func() {
			cut, _ := PartialObjectMetadata(s.raw)
			dst, _ = pom.AppendJSON(dst[:0], cut)
		},
		"fields": func() {
			for _, path := range [][]string{
				{"spec", "nodeName"}, {"spec", "restartPolicy"}, {"spec", "schedulerName"}, {"spec", "serviceAccountName"}, {"spec", "hostNetwork"},
				{"status", "phase"}, {"status", "podIP"}, {"status", "nominatedNodeName"},
			} {
				_, _ = s.Field(s.raw, path...)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
