package splice

import "encoding/binary"

// Stream is a compressed stream that is written as it comes: what [Stream.Begin] appends, the data of blocks in any
// number, what [Stream.End] appends. A reader can unpack each block as soon as it has it. The Stream holds no blocks, only
// their checksum. It must not be used by two goroutines at once.
type Stream struct {
	coding Coding
	crc    uint32
	plain  uint64
}

// NewStream returns a Stream in that coding.
func NewStream(c Coding) *Stream { return &Stream{coding: c} }

// Begin appends what precedes the first block.
func (s *Stream) Begin(dst []byte) []byte {
	if s.coding == Gzip {
		return append(dst, gzipHeader...)
	}
	return dst
}

// Add takes note of a block whose data the caller writes. The block must be of the Stream's coding.
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

// Plain returns how many bytes the blocks unpack to.
func (s *Stream) Plain() uint64 { return s.plain }

// End appends what follows the last block.
func (s *Stream) End(dst []byte) []byte {
	if s.coding == Zstd && s.plain == 0 {
		return append(dst, emptyFrame...) // a stream is at least one frame (RFC 8878, section 3)
	}
	if s.coding != Gzip {
		return dst
	}
	dst = append(dst, final...)
	dst = binary.LittleEndian.AppendUint32(dst, s.crc)
	return binary.LittleEndian.AppendUint32(dst, uint32(s.plain))
}
