package json

import (
	"testing"

	"sluice/test/support/jsontest"
)

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
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Valid(f.JSON, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIndent(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name, func(b *testing.B) {
			dst := make([]byte, 0, 8*len(f.JSON))
			b.SetBytes(int64(len(f.JSON)))
			for b.Loop() {
				if _, err := AppendIndent(dst, f.JSON, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
