package serve

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sluice/codec/splice"
)

// compressor compresses an answer as it is written.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

const (
	// gzipLevel is the apiserver's.
	gzipLevel = 1
	// zstdWindow is well below what every reader must allow (RFC 9659).
	zstdWindow = 1 << 20
)

var compressors = map[splice.Coding]*sync.Pool{
	splice.Gzip: {New: func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzipLevel) // fails only for levels out of range
		return z
	}},
	splice.Zstd: {New: func() any {
		z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true)) // fails only for options out of range
		return z
	}},
}

// compressorFor returns an idle compressor that writes to w.
func compressorFor(c splice.Coding, w io.Writer) compressor {
	z := compressors[c].Get().(compressor)
	z.Reset(w)
	return z
}

func giveBack(c splice.Coding, z compressor) {
	z.Reset(io.Discard)
	compressors[c].Put(z)
}
