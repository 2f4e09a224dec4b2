package json

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"sluice/test/support/jsontest"
)

// reencode makes a PartialObjectMetadata in the way of the apiserver: it decodes the object into
// its Go type and encodes the metadata.
func reencode(b *testing.B, f jsontest.File) {
	var obj metav1.Object
	switch f.Name {
	case "pod":
		obj = &corev1.Pod{}
	case "configmap":
		obj = &corev1.ConfigMap{}
	default:
		obj = &unstructured.Unstructured{}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(f.JSON, obj); err != nil {
		b.Fatal(err)
	}
	if _, err := stdjson.Marshal(meta.AsPartialObjectMetadata(obj)); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPartialObjectMetadata(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			buf := make([]byte, 0, 1<<16)
			for b.Loop() {
				var err error
				if buf, err = AppendPartialObjectMetadata(buf[:0], f.JSON, "meta.k8s.io/v1"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.Name+"/apiserver", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				reencode(b, f)
			}
		})
		b.Run(f.Name+"/apimachinery", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := partial(f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkObjectMeta(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseObjectMeta(f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValid(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Valid(f.JSON, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.Name+"/std", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				stdjson.Valid(f.JSON)
			}
		})
	}
}

func BenchmarkSkip(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			for b.Loop() {
				skipValue(f.JSON, 0)
			}
		})
	}
}

// BenchmarkIndent indents what a segment memoizes, and copies as much as that becomes: what any way of indenting costs.
func BenchmarkIndent(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		items := bytes.TrimSuffix(bytes.Repeat(append(f.JSON[:len(f.JSON):len(f.JSON)], ','), 32), []byte(","))
		indented := AppendIndent(nil, items, 2)
		dst := make([]byte, 0, 2*len(indented))
		b.Run(f.Name+"/indent", func(b *testing.B) {
			b.SetBytes(int64(len(items)))
			for b.Loop() {
				dst = AppendIndent(dst[:0], items, 2)
			}
		})
		b.Run(f.Name+"/copy", func(b *testing.B) {
			b.SetBytes(int64(len(items)))
			for b.Loop() {
				dst = append(dst[:0], indented...)
			}
		})
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1<<17)
	for _, f := range jsontest.Realistic() {
		for name, run := range map[string]func() error{
			"Valid": func() error { return Valid(f.JSON, Limits{}) },
			"AppendPartialObjectMetadata": func() (err error) {
				buf, err = AppendPartialObjectMetadata(buf[:0], f.JSON, "meta.k8s.io/v1")
				return err
			},
			"AppendIndent": func() error { buf = AppendIndent(buf[:0], f.JSON, 0); return nil },
		} {
			allocs := testing.AllocsPerRun(100, func() {
				if err := run(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s of the %s: %v allocations per run", name, f.Name, allocs)
			}
		}
	}
}
