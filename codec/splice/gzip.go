package splice

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// gzipLevel balances time and size for runs of some tens of objects: 32 pods become a fifth smaller
// than at level 1 in a tenth more time. Level 5 saves another tenth for two fifths more time.
const gzipLevel = 3

// gzipHeader begins a gzip stream as the apiserver writes it: deflate, no flags, no time, fastest,
// unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// final is an empty last deflate block. It follows blocks that end at a byte boundary.
const final = "\x03\x00"

// maxStored is the longest run that one stored deflate block can hold.
const maxStored = 1<<16 - 1

// storedHead is the length of the head of a stored block: three bits, padding, the length and its
// complement.
const storedHead = 5

func newGzipBlock(data, plain []byte) Block {
	return Block{
		Data:  data[:len(data):len(data)],
		Plain: len(plain),
		CRC:   crc32.ChecksumIEEE(plain),
		shift: shift(uint64(len(plain))),
	}
}

// deflaters pools deflaters, each of which takes hundreds of kilobytes.
var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.flate, _ = flate.NewWriter(d, gzipLevel) // fails only for levels out of range
	return d
}}

// deflater is a deflate writer that appends to buf.
type deflater struct {
	flate *flate.Writer
	buf   []byte
}

func (d *deflater) Write(p []byte) (int, error) {
	d.buf = append(d.buf, p...)
	return len(p), nil
}

// appendDeflate appends plain as deflate blocks that end at a byte boundary.
func appendDeflate(dst, plain []byte) []byte {
	d := deflaters.Get().(*deflater)
	d.flate.Reset(d)
	d.buf = dst
	// Neither call can fail, because Write does not. Flush aligns the output to a byte boundary
	// with an empty stored block.
	_, _ = d.flate.Write(plain)
	_ = d.flate.Flush()
	dst, d.buf = d.buf, nil
	deflaters.Put(d)
	return dst
}

// appendStored appends plain as stored deflate blocks.
func appendStored(dst, plain []byte) []byte {
	for len(plain) > 0 {
		part := plain[:min(len(plain), maxStored)]
		plain = plain[len(part):]
		dst = append(dst, 0)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(part)))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(part)))
		dst = append(dst, part...)
	}
	return dst
}
