package proto

// Major types of CBOR, the high three bits of an item's first byte.
const (
	cborUint     = 0
	cborNegative = 1
	cborBytes    = 2
	cborArray    = 4
	cborMap      = 5
)

const (
	// cborTiny is the largest argument that an item's first byte can hold.
	cborTiny = 23

	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborNull    = 0xf6
	cborFloat16 = 0xf9
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb

	// cborBase64 is tag 22: a []byte, base64 where it must become text.
	cborBase64 = 0xd6
)

// appendCBORHead appends the shortest head with this major type and argument.
func appendCBORHead(dst []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n <= cborTiny:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n < 1<<32:
		return append(dst, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// appendCBORBytes appends a byte string: that is what the apiserver writes for
// text too, names of members included.
func appendCBORBytes[T string | []byte](dst []byte, s T) []byte {
	return append(appendCBORHead(dst, cborBytes, uint64(len(s))), s...)
}
