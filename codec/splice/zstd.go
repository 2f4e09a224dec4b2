package splice

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is the largest distance of back references in a frame, in bytes. Every HTTP client must
// accept 8 MB (RFC 9659), and runs are far smaller than 1 MiB.
const window = 1 << 20

// emptyFrame decompresses to nothing: magic number, a single segment of size 0, an empty last raw
// block.
const emptyFrame = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"

// encoder is shared by all goroutines.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithWindowSize(window),
	)
	if err != nil { // only for options out of range
		panic(err)
	}
	return e
})

// appendFrame appends a zstd frame of plain, or nothing if plain is empty. A sequence of frames is
// one stream (RFC 8878, section 3).
func appendFrame(dst, plain []byte) []byte {
	if len(plain) == 0 {
		return dst
	}
	return encoder().EncodeAll(plain, dst)
}
