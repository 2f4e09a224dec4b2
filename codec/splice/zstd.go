package splice

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is the largest distance of back references in a frame, in bytes. Every HTTP client must
// accept 8 MB (RFC 9659), and runs are far smaller than 1 MiB.
const window = 1 << 20

// emptyFrame decompresses to nothing: magic number, a single segment of size 0, an empty last raw
// block.
const emptyFrame = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"

// encoders pools encoders, each of which takes some megabytes. An encoder for all goroutines would
// keep as many of its parts for ever as there are CPUs.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true),
	)
	if err != nil { // only for options out of range
		panic(err)
	}
	return e
}}

// appendFrame appends a zstd frame of plain, or nothing if plain is empty. A sequence of frames is
// one stream (RFC 8878, section 3).
func appendFrame(dst, plain []byte) []byte {
	if len(plain) == 0 {
		return dst
	}
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	return e.EncodeAll(plain, dst)
}
