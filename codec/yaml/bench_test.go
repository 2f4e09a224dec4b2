package yaml

import (
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"sluice/test/support/jsontest"
)

func BenchmarkAppendFromJSON(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			buf := make([]byte, 0, 1<<17)
			for b.Loop() {
				var err error
				if buf, err = AppendFromJSON(buf[:0], f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.Name+"/apimachinery", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sigsyaml.JSONToYAML(f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
