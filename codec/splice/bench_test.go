package splice

import (
	"bytes"
	stdgzip "compress/gzip"
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

// BenchmarkEvent adds an event of a pod to a stream, as each watch does.
func BenchmarkEvent(b *testing.B) {
	block := Gzip.Compress(nil, text(7700))
	packed := block.Pack(nil)
	s := NewStream(Gzip)
	for b.Loop() {
		event := Unpack(packed)
		s.Add(&event)
	}
}

// BenchmarkApiserverGzip compresses the same list in the way of the apiserver: with compress/gzip
// at level 1.
func BenchmarkApiserverGzip(b *testing.B) {
	data := text(segment)
	b.SetBytes(300 * segment)
	for b.Loop() {
		var out bytes.Buffer
		w, _ := stdgzip.NewWriterLevel(&out, 1)
		for range 300 {
			_, _ = w.Write(data)
		}
		_ = w.Close()
	}
}
