package splice

import (
	"io"
	"testing"
)

const segment = 250 << 10 // about 32 pods

func BenchmarkCompress(b *testing.B) {
	data := text(segment)
	for _, c := range []Coding{Gzip, Zstd} {
		b.Run(c.String(), func(b *testing.B) {
			b.SetBytes(segment)
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = c.Compress(buf[:0], data).Data
			}
			b.ReportMetric(float64(len(buf))/segment, "ratio")
		})
	}
}

// BenchmarkSplice splices a list of 300 compressed segments, 75 MB before compression.
func BenchmarkSplice(b *testing.B) {
	block := Gzip.Compress(nil, text(segment))
	comma := Gzip.Store(nil, []byte(","))
	b.SetBytes(300 * segment)
	b.ReportAllocs()
	for b.Loop() {
		s := NewStream(Gzip)
		_, _ = io.Discard.Write(s.Begin(nil))
		for range 300 {
			for _, part := range []*Block{&block, &comma} {
				s.Add(part)
				_, _ = io.Discard.Write(part.Data)
			}
		}
		_, _ = io.Discard.Write(s.End(nil))
	}
}
