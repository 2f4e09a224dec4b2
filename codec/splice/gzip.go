package splice

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// gzipHeader begins a gzip stream as the apiserver writes it: deflate, no flags, no time, fastest, unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// final is an empty last deflate block; it follows blocks that end at a byte boundary.
const final = "\x03\x00"

// trailer is the length of CRC-32 and plain length at the end of a gzip stream.
const trailer = 8

// Gzip is a gzip stream being put together. The zero value is an empty stream. It holds the blocks by reference; it must
// not be used by two goroutines at once, but the blocks may.
type Gzip struct {
	parts  [][]byte
	small  []byte // the last chunk that plain parts were copied to
	crc    uint32
	plain  uint64
	length int64
}

// smallChunk is the capacity in which memory for plain parts is taken.
const smallChunk = 1 << 10

// Add appends a block by reference.
func (g *Gzip) Add(b *Block) {
	g.begin()
	if b.Plain == 0 {
		return
	}
	g.add(b.Data)
	by := b.shift
	if by == 0 {
		by = shift(uint64(b.Plain))
	}
	g.crc = combine(g.crc, b.CRC, by)
	g.plain += uint64(b.Plain)
}

// AddPlain appends bytes that are to be part of the stream uncompressed. They are copied.
func (g *Gzip) AddPlain(p []byte) {
	if cap(g.small)-len(g.small) < len(p)+storedHead {
		g.small = make([]byte, 0, max(smallChunk, len(p)+storedHead*(len(p)/maxStored+1)))
	}
	b := Store(g.small, p)
	g.small = g.small[:len(g.small)+len(b.Data)]
	g.Add(&b)
}

// Close ends the stream. Nothing may be added after it.
func (g *Gzip) Close() {
	g.begin()
	end := append(make([]byte, 0, len(final)+trailer), final...)
	g.add(appendTrailer(end, g.crc, g.plain))
}

func (g *Gzip) begin() {
	if g.parts == nil {
		g.add([]byte(gzipHeader))
	}
}

func (g *Gzip) add(p []byte) {
	g.parts = append(g.parts, p)
	g.length += int64(len(p))
}

// Len returns the length of the stream in bytes, once it is closed.
func (g *Gzip) Len() int64 { return g.length }

// Plain returns how many bytes the stream unpacks to.
func (g *Gzip) Plain() uint64 { return g.plain }

// Parts returns the stream's bytes, in order. They must not be changed; the slice is valid until the next call to Add.
func (g *Gzip) Parts() [][]byte { return g.parts }

// WriteTo writes the whole stream, a part at a time. It may be called again.
func (g *Gzip) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range g.parts {
		k, err := w.Write(p)
		n += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// AppendMember appends a gzip stream of its own that unpacks to plain. Streams that follow each other are one to every
// reader. The data ends with a sync flush before the stream ends, so that a reader hands it out at once instead of
// waiting to see whether another stream follows.
func AppendMember(dst, plain []byte, level int) []byte {
	dst = append(dst, gzipHeader...)
	dst = appendDeflate(dst, plain, level)
	dst = append(dst, final...)
	return appendTrailer(dst, crc32.ChecksumIEEE(plain), uint64(len(plain)))
}

func appendTrailer(dst []byte, crc uint32, plain uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, crc)
	return binary.LittleEndian.AppendUint32(dst, uint32(plain))
}
