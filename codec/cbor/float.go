package cbor

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The heads of floats, by width in bits.
const (
	head16 = 0xf9
	head32 = 0xfa
	head64 = 0xfb
)

// AppendFloat appends f in the shortest of 16, 32 and 64 bits that keeps its value. f must not be
// NaN or infinite, which the profile excludes.
func AppendFloat(dst []byte, f float64) []byte {
	single := float32(f)
	if float64(single) != f {
		return binary.BigEndian.AppendUint64(append(dst, head64), math.Float64bits(f))
	}
	b := math.Float32bits(single)
	if h, ok := half(b); ok {
		return binary.BigEndian.AppendUint16(append(dst, head16), h)
	}
	return binary.BigEndian.AppendUint32(append(dst, head32), b)
}

// half converts the bits of a finite float32 to those of a float16; ok is false if that changes the
// value.
func half(b uint32) (h uint16, ok bool) {
	sign := uint16(b >> 16 & 0x8000)
	exponent := int(b>>23&0xff) - 127
	fraction := b & (1<<23 - 1)
	switch {
	case b<<1 == 0:
		return sign, true
	case exponent > 15 || exponent < -24:
		return 0, false
	case exponent >= -14: // normal in both
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>13), fraction&(1<<13-1) == 0
	}
	// Subnormal in float16: a multiple of 2^-24, its leading one explicit.
	fraction |= 1 << 23
	shift := -1 - exponent // 14 at 2^-15, 23 at 2^-24
	return sign | uint16(fraction>>shift), bits.TrailingZeros32(fraction) >= shift
}
