package cbor

import "encoding/binary"

// SelfDescribed is the head of tag 55799 (RFC 8949, 3.4.6). The apiserver begins every whole item
// with it, and also the object inside a watch event.
const SelfDescribed = "\xd9\xd9\xf7"

// Major is the major type of an item, in the high bits of the first byte of a head.
type Major byte

// The major types.
const (
	Uint   Major = 0 << 5
	Negint Major = 1 << 5
	Bytes  Major = 2 << 5
	Text   Major = 3 << 5
	Array  Major = 4 << 5
	Map    Major = 5 << 5
	Tag    Major = 6 << 5
)

// The simple values of the profile, each a whole item of one byte.
const (
	False = 0xf4
	True  = 0xf5
	Null  = 0xf6
)

// AppendHead appends the shortest head of an item of type m. n is its length in bytes, elements or
// pairs, its value, or its tag number.
func AppendHead(dst []byte, m Major, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, byte(m)|byte(n))
	case n < 1<<8:
		return append(dst, byte(m)|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, byte(m)|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, byte(m)|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, byte(m)|27), n)
}

// headSize returns the number of bytes that AppendHead appends for n.
func headSize(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	case n < 1<<32:
		return 5
	}
	return 9
}

// AppendMap appends the head of a map of n pairs, which the caller appends.
func AppendMap(dst []byte, n int) []byte { return AppendHead(dst, Map, uint64(n)) }

// AppendArray appends the head of an array of n elements, which the caller appends.
func AppendArray(dst []byte, n int) []byte { return AppendHead(dst, Array, uint64(n)) }

// AppendString appends text in the form of the profile: as a byte string.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	return append(AppendHead(dst, Bytes, uint64(len(s))), s...)
}

// AppendBase64 appends the content of a Go byte slice: a byte string with tag 22, which says that
// JSON has it in base64.
func AppendBase64(dst, b []byte) []byte {
	return AppendString(AppendHead(dst, Tag, 22), b)
}

// AppendInt appends a signed integer.
func AppendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return AppendHead(dst, Negint, uint64(^n))
	}
	return AppendHead(dst, Uint, uint64(n))
}

// AppendBool appends true or false.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, True)
	}
	return append(dst, False)
}
