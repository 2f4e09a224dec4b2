package cbor

import (
	"testing"

	"sluice/test/support/jsontest"
)

func BenchmarkAppendFromJSON(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			buf := make([]byte, 0, 1<<16)
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
				if _, err := encode(f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	f := jsontest.Realistic()[0]
	item, _ := AppendFromJSON(nil, f.JSON)
	b.SetBytes(int64(len(f.JSON)))
	b.ReportAllocs()
	buf := make([]byte, 0, 1<<16)
	for b.Loop() {
		buf, _ = AppendJSON(buf[:0], item, 0)
	}
}
