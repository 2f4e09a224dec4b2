package list

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sluice/codec/splice"
)

// compressor compresses text while it is written.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

const (
	// gzipLevel is the level of the apiserver.
	gzipLevel = 1
	// zstdWindow is less than the window that every decoder must support (RFC 9659).
	zstdWindow = 1 << 20
)

// compressors holds idle compressors. Their constructors fail for invalid options only.
var compressors = map[splice.Coding]*sync.Pool{
	splice.Gzip: {New: func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzipLevel)
		return z
	}},
	splice.Zstd: {New: func() any {
		z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
		return z
	}},
}

// newCompressor returns an idle compressor that writes to w.
func newCompressor(c splice.Coding, w io.Writer) compressor {
	z := compressors[c].Get().(compressor)
	z.Reset(w)
	return z
}

func releaseCompressor(c splice.Coding, z compressor) {
	z.Reset(io.Discard)
	compressors[c].Put(z)
}
