package proto

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// BenchmarkMetadata reduces an object to its metadata, as a raw message and as JSON; apimachinery
// decodes the whole object first.
func BenchmarkMetadata(b *testing.B) {
	pom := mustLookup(b, "meta.k8s.io/v1", "PartialObjectMetadata")
	s := load(b)["pod"]
	b.Run("cut/sluice", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = PartialObjectMetadata(s.raw)
		}
	})
	b.Run("cut/apimachinery", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pod := s.decoded(b).(*corev1.Pod)
			cut := &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
			if _, err := cut.Marshal(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json/sluice", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			cut, _ := PartialObjectMetadata(s.raw)
			dst, _ = pom.AppendJSON(dst[:0], cut)
		}
	})
	b.Run("json/apimachinery", func(b *testing.B) {
		b.ReportAllocs()
		var dst bytes.Buffer
		for b.Loop() {
			dst.Reset()
			pod := s.decoded(b).(*corev1.Pod)
			if err := jsonSerializer.Encode(&metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}, &dst); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkObjectMeta reads the parts of an object that the reflector needs.
func BenchmarkObjectMeta(b *testing.B) {
	s := load(b)["pod"]
	b.Run("ObjectMeta", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseObjectMeta(s.raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AppendWithResourceVersion", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst, _ = AppendWithResourceVersion(dst[:0], s.raw, "7654321")
		}
	})
	b.Run("fields", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, path := range [][]string{
				{"spec", "nodeName"}, {"spec", "restartPolicy"}, {"spec", "schedulerName"}, {"spec", "serviceAccountName"}, {"spec", "hostNetwork"},
				{"status", "phase"}, {"status", "podIP"}, {"status", "nominatedNodeName"},
			} {
				_, _ = s.Field(s.raw, path...)
			}
		}
	})
}
