package splice

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is the largest distance that frames refer back, in bytes: what every reader of HTTP's zstd must allow is 8 MB
// (RFC 9659), and pieces are far smaller.
const window = 1 << 20

// emptyFrame unpacks to nothing: magic number, a single segment of size 0, an empty raw block that is the last.
const emptyFrame = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"

// encoder is made on first use; it may be used concurrently.
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

// AppendFrame appends a zstd frame that unpacks to plain. Frames that follow each other are one stream, so pieces
// compressed before are spliced by writing them one after the other. Empty input gives no bytes at all.
func AppendFrame(dst, plain []byte) []byte {
	if len(plain) == 0 {
		return dst
	}
	return encoder().EncodeAll(plain, dst)
}
