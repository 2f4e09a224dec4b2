package splice

import "encoding/binary"

// Block is a separately compressed run of bytes. The zero Block is an empty run.
type Block struct {
	Data  []byte // gzip: deflate blocks, none of them final, up to a byte boundary; zstd: whole frames
	Plain int    // length before compression, in bytes
	CRC   uint32 // gzip: CRC-32 (IEEE) before compression
	shift uint32 // advances a CRC past the run, see combine; zero if unknown
}

// packed is the number of bytes that Pack adds to the data of a block.
const packed = 12

// Pack appends the block in a form that Unpack reads, for caches that hold bytes.
func (b *Block) Pack(dst []byte) []byte {
	dst = append(dst, b.Data...)
	dst = binary.LittleEndian.AppendUint32(dst, b.CRC)
	dst = binary.LittleEndian.AppendUint32(dst, b.shift)
	return binary.LittleEndian.AppendUint32(dst, uint32(b.Plain))
}

// Unpack returns the block in p, which must be the result of Pack. The block aliases p.
func Unpack(p []byte) Block {
	n := len(p) - packed
	return Block{
		Data:  p[:n:n],
		CRC:   binary.LittleEndian.Uint32(p[n:]),
		shift: binary.LittleEndian.Uint32(p[n+4:]),
		Plain: int(binary.LittleEndian.Uint32(p[n+8:])),
	}
}
