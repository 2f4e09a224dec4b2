package splice

import "encoding/binary"

// Stream is the state of one compressed stream: its length and checksum so far. The stream consists
// of the bytes of [Stream.Begin], the data of any number of blocks, each passed to [Stream.Add],
// and the bytes of [Stream.End]. A Stream is not safe for concurrent use.
type Stream struct {
	coding Coding
	crc    uint32
	plain  uint64 // bytes before compression
}

// NewStream returns an empty Stream. With Identity it takes no blocks, and has neither beginning nor end.
func NewStream(c Coding) *Stream { return &Stream{coding: c} }

// Begin appends the bytes before the first block.
func (s *Stream) Begin(dst []byte) []byte {
	if s.coding == Gzip {
		return append(dst, gzipHeader...)
	}
	return dst
}

// Add records a block, whose data the caller writes. The block must have the coding of the stream.
func (s *Stream) Add(b *Block) {
	s.plain += uint64(b.Plain)
	if s.coding != Gzip || b.Plain == 0 {
		return
	}
	by := b.shift
	if by == 0 {
		by = shift(uint64(b.Plain))
	}
	s.crc = combine(s.crc, b.CRC, by)
}

// Plain returns the length of all added blocks before compression, in bytes.
func (s *Stream) Plain() uint64 { return s.plain }

// End appends the bytes after the last block.
func (s *Stream) End(dst []byte) []byte {
	if s.coding == Zstd && s.plain == 0 {
		return append(dst, emptyFrame...) // a stream has at least one frame (RFC 8878, section 3)
	}
	if s.coding != Gzip {
		return dst
	}
	dst = append(dst, final...)
	dst = binary.LittleEndian.AppendUint32(dst, s.crc)
	return binary.LittleEndian.AppendUint32(dst, uint32(s.plain))
}
