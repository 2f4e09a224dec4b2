package splice

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"testing"
)

const segment = 250 << 10 // about 32 pods

func BenchmarkCompress(b *testing.B) {
	data := text(segment)
	for _, level := range []int{1, 3, 5} {
		b.Run(fmt.Sprint("level=", level), func(b *testing.B) {
			b.SetBytes(segment)
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = Compress(buf[:0], data, level).Data
			}
			b.ReportMetric(float64(len(buf))/segment, "ratio")
		})
	}
}

func BenchmarkZstdFrame(b *testing.B) {
	data := text(segment)
	b.SetBytes(segment)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendFrame(buf[:0], data)
	}
	b.ReportMetric(float64(len(buf))/segment, "ratio")
}

// BenchmarkSplice puts a list of 300 ready segments together, 75 MB when unpacked.
func BenchmarkSplice(b *testing.B) {
	block := Compress(nil, text(segment), DefaultLevel)
	comma := Store(nil, []byte(","))
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

// BenchmarkApiserverGzip is what the same list costs the apiserver: compress/gzip at level 1 over all of it.
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
