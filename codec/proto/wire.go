package proto

import "google.golang.org/protobuf/encoding/protowire"

// Wire types, the low three bits of a tag.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// maxFieldNumber is the largest field number that protobuf allows.
const maxFieldNumber = 1<<29 - 1

// A field is one field of a message on the wire.
type field struct {
	num   int
	typ   int
	value uint64 // of varint, fixed32 and fixed64 fields
	start int    // offset of the payload, after tag and length
	end   int    // offset after the payload
}

// varint reads the varint at b[i] and returns its value and the offset after it. The offset is
// negative on error: -1 if the varint is truncated, -2 if it has more than 64 bits.
func varint(b []byte, i int) (uint64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longVarint(b, i)
}

// longVarint is varint for values of any length.
func longVarint(b []byte, i int) (v uint64, next int) {
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			return 0, -2
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, -2
}

// varintError returns the sentinel for a negative offset of varint.
func varintError(next int) error {
	if next == -2 {
		return ErrVarint
	}
	return ErrTruncated
}

// readField parses the field that begins at b[i].
func readField(b []byte, i int) (f field, err error) {
	tag, next := varint(b, i)
	if next < 0 {
		return f, varintError(next)
	}
	f.typ = int(tag & 7)
	if tag>>3 == 0 || tag>>3 > maxFieldNumber {
		return f, ErrTag
	}
	f.num, f.start = int(tag>>3), next
	switch f.typ {
	case wireVarint:
		f.value, f.end = varint(b, next)
		if f.end < 0 {
			return f, varintError(f.end)
		}
	case wireBytes:
		size, next := varint(b, next)
		if next < 0 {
			return f, varintError(next)
		}
		if size > uint64(len(b)-next) {
			return f, ErrTruncated
		}
		f.start, f.end = next, next+int(size)
	case wireFixed64:
		return fixed(b, f, 8)
	case wireFixed32:
		return fixed(b, f, 4)
	default:
		return f, ErrTag
	}
	return f, nil
}

// fixed completes f with its value of n bytes, little-endian.
func fixed(b []byte, f field, n int) (field, error) {
	if n > len(b)-f.start {
		return f, ErrTruncated
	}
	f.end = f.start + n
	for i := f.end - 1; i >= f.start; i-- {
		f.value = f.value<<8 | uint64(b[i])
	}
	return f, nil
}

// walk calls do with each field of b that has a number up to len(types), and its payload. types has their
// wire types. Other fields are skipped, or ErrUnknownField if strict.
func walk(b []byte, types []uint8, strict bool, do func(f field, v []byte)) error {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return err
		case f.num <= len(types) && f.typ != int(types[f.num-1]):
			return ErrWireType
		case f.num <= len(types):
			do(f, b[f.start:f.end])
		case strict:
			return ErrUnknownField
		}
		i = f.end
	}
	return nil
}

// bytesSize returns the size of a length-delimited field of n bytes: tag, length, payload. The
// field number must be below 16.
func bytesSize(n int) int {
	return 1 + protowire.SizeBytes(n)
}

// appendHead appends tag and length of a length-delimited field. The field number must be below 16.
func appendHead(dst []byte, num, size int) []byte {
	return protowire.AppendVarint(append(dst, byte(num<<3|wireBytes)), uint64(size))
}

// appendBytes appends a length-delimited field. The field number must be below 16.
func appendBytes[T string | []byte](dst []byte, num int, s T) []byte {
	return append(appendHead(dst, num, len(s)), s...)
}

// AppendBytesField appends bytes, text or a message as field num.
func AppendBytesField(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}
