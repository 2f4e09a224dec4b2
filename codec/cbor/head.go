package cbor

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

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

// AppendFloat appends f in the shortest of 16, 32 and 64 bits that keeps its value. f must not be
// NaN or infinite, which the profile excludes.
func AppendFloat(dst []byte, f float64) []byte {
	b, _ := direct.Marshal(f)
	return append(dst, b...)
}

// AppendEventHead appends a watch event up to its object, which the caller appends without tag.
// Nothing follows the object.
//
//	d9d9f7 a2 "type" typ "object" d9d9f7 …
func AppendEventHead(dst []byte, typ string) []byte {
	dst = AppendHead(append(dst, SelfDescribed...), Map, 2)
	dst = AppendString(AppendString(dst, "type"), typ)
	return append(AppendString(dst, "object"), SelfDescribed...)
}

// AppendListHead appends a list up to its items. The caller appends n items without tags; nothing
// follows them. If n is negative, items is null and the list is complete. metadata is the ListMeta
// in JSON.
//
// The error is one of AppendFromJSON for the metadata; dst is then returned unchanged.
func AppendListHead(dst []byte, apiVersion, kind string, metadata []byte, n int) ([]byte, error) {
	base := len(dst)
	dst = AppendHead(append(dst, SelfDescribed...), Map, 4)
	dst = AppendString(AppendString(dst, "kind"), kind)
	dst = AppendString(AppendString(dst, "apiVersion"), apiVersion)
	dst, err := AppendFromJSON(AppendString(dst, "metadata"), metadata)
	if err != nil {
		return dst[:base], err
	}
	dst = AppendString(dst, "items")
	if n < 0 {
		return append(dst, Null), nil
	}
	return AppendHead(dst, Array, uint64(n)), nil
}
