package splice

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Levels of compression, as klauspost/compress counts them.
const (
	MinLevel = flate.BestSpeed
	MaxLevel = flate.BestCompression
	// DefaultLevel is a good balance for runs of some tens of objects: 32 pods come out a fifth smaller than at level 1
	// for a tenth more time; level 5 gains another tenth for two fifths more (BenchmarkSegment in package codec).
	DefaultLevel = 3
)

// Block is a run of bytes compressed by itself. The zero Block is an empty run.
type Block struct {
	Data  []byte // of gzip: deflate blocks, none of them final, ending at a byte boundary; of zstd: whole frames
	Plain int    // length before compression, in bytes
	CRC   uint32 // of gzip: CRC-32 (IEEE) before compression

	shift uint32 // moves the CRC of what precedes the run past it; zero if not known
}

// writers holds idle deflate writers by level; each is some hundreds of kilobytes.
var writers [MaxLevel + 1]sync.Pool

// writer is a deflate writer and the buffer it writes to.
type writer struct {
	flate *flate.Writer
	buf   []byte
}

// Write appends to the buffer.
func (w *writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

func getWriter(level int) *writer {
	level = min(max(level, MinLevel), MaxLevel)
	if w, ok := writers[level].Get().(*writer); ok {
		w.flate.Reset(w)
		return w
	}
	w := new(writer)
	w.flate, _ = flate.NewWriter(w, level) // fails only for levels out of range
	return w
}

func (w *writer) put(level int) {
	w.buf = nil
	writers[min(max(level, MinLevel), MaxLevel)].Put(w)
}

// Compress makes a Block of plain, at a level between MinLevel and MaxLevel; others count as the nearer of these. The
// Block's data is appended to dst, and may alias it.
func Compress(dst, plain []byte, level int) Block {
	return newBlock(appendDeflate(dst, plain, level)[len(dst):], plain)
}

// appendDeflate appends plain as deflate blocks that end at a byte boundary.
func appendDeflate(dst, plain []byte, level int) []byte {
	w := getWriter(level)
	w.buf = dst
	// Neither can fail: the writer's Write does not. Flush ends with an empty stored block, which is what aligns.
	_, _ = w.flate.Write(plain)
	_ = w.flate.Flush()
	dst = w.buf
	w.put(level)
	return dst
}

// maxStored is the longest run that one stored deflate block can hold.
const maxStored = 1<<16 - 1

// storedHead is the length of a stored block's head: three bits, padding, the length and its complement.
const storedHead = 5

// Store makes a Block of plain without compressing it, for what is too short to gain: separators, heads, tails. It is
// five bytes longer than plain for every 65,535 bytes of it. The Block's data is appended to dst, and aliases it.
func Store(dst, plain []byte) Block {
	base := len(dst)
	for rest := plain; len(rest) > 0; {
		part := rest[:min(len(rest), maxStored)]
		rest = rest[len(part):]
		dst = append(dst, 0)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(part)))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(part)))
		dst = append(dst, part...)
	}
	return newBlock(dst[base:len(dst):len(dst)], plain)
}

func newBlock(data, plain []byte) Block {
	return Block{
		Data:  data,
		Plain: len(plain),
		CRC:   crc32.ChecksumIEEE(plain),
		shift: shift(uint64(len(plain))),
	}
}

// packed is the length of what Pack appends to a block's data.
const packed = 8

// Pack appends the block as one run of bytes, for those who keep bytes.
func (b *Block) Pack(dst []byte) []byte {
	dst = append(dst, b.Data...)
	dst = binary.LittleEndian.AppendUint32(dst, b.CRC)
	return binary.LittleEndian.AppendUint32(dst, uint32(b.Plain))
}

// Unpack returns the block that Pack made p of. It aliases p.
func Unpack(p []byte) Block {
	n := len(p) - packed
	return Block{
		Data:  p[:n:n],
		CRC:   binary.LittleEndian.Uint32(p[n:]),
		Plain: int(binary.LittleEndian.Uint32(p[n+4:])),
	}
}
