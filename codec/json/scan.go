package json

import (
	"encoding/binary"
	"math/bits"
)

// The Skip functions return the index after the token that begins at b[i], or -1 if it does not
// end. They check no more of the syntax than finding that end needs.

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// skipSpace returns the index of the first byte from i on that is not JSON space; len(b) if there
// is none.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// stringFlags tell how the raw bytes between the quotes of a string become text.
type stringFlags uint8

const (
	escaped  stringFlags = 1 << iota // they contain a backslash
	nonASCII                         // they contain a byte above 0x7f, valid UTF-8 or not
)

// SkipString skips the string whose opening quote is b[i]. Its raw bytes are b[i+1:end-1]. It reads
// eight bytes per step, because most bytes of an object are in strings.
func SkipString(b []byte, i int) (end int, t stringFlags) {
	var high uint64
	for i++; ; {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q, e := w^('"'*lowBits), w^('\\'*lowBits)
			if m := ((q-lowBits) & ^q | (e-lowBits) & ^e) & highBits; m != 0 {
				n := bits.TrailingZeros64(m) // 8*index + 7
				high |= w & (1<<n - 1)
				i += n >> 3
				break
			}
			high |= w
			i += 8
		}
		for ; i < len(b) && b[i] != '"' && b[i] != '\\'; i++ {
			high |= uint64(b[i])
		}
		if i >= len(b) {
			return -1, t
		}
		if b[i] == '"' {
			if high&highBits != 0 {
				t |= nonASCII
			}
			return i + 1, t
		}
		t |= escaped
		i += 2
	}
}

// plainRun returns the index of the first byte from i on that encoding/json may escape inside a
// string: quotes, backslashes, control characters, <, > and &, and all bytes that are not ASCII;
// len(b) if there is none.
func plainRun(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q, e, a := w^('"'*lowBits), w^('\\'*lowBits), w^('&'*lowBits)
		l := (w | 2*lowBits) ^ ('>' * lowBits) // '<' | 2 == '>'
		m := (q-lowBits)&^q | (e-lowBits)&^e | (a-lowBits)&^a | (l-lowBits)&^l | (w-' '*lowBits)&^w | w
		if m &= highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
}

// IsPlain reports whether AppendString writes s as it is, which it also may if s has bytes beyond ASCII.
func IsPlain(s []byte) bool { return plainRun(s, 0) == len(s) }

// skipValue skips the value at b[i]; b[i] must not be space.
func skipValue(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		end, _ := SkipString(b, i)
		return end
	case c == '{' || c == '[':
		return skipContainer(b, i)
	default:
		return skipScalar(b, i)
	}
}

// skipScalar skips the number or literal at b[i]: all letters, digits, signs and points.
func skipScalar(b []byte, i int) int {
	start := i
	for i < len(b) && class[b[i]]&scalar != 0 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// skipContainer skips the array or object at b[i] by counting brackets outside strings, so that
// nesting takes no stack.
func skipContainer(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch class[b[i]] & (open | shut | quote) {
		case 0:
			i++
		case quote:
			if i, _ = SkipString(b, i); i < 0 {
				return -1
			}
		case open:
			depth++
			i++
		default:
			i++
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

const (
	scalar = 1 << iota // may be part of a number or literal
	open               // { [
	shut               // } ]
	quote              // "
)

// class is the meaning of a byte outside strings.
var class = func() (t [256]uint8) {
	for _, c := range []byte("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = scalar
	}
	t['{'], t['['], t['}'], t[']'], t['"'] = open, open, shut, shut, quote
	return t
}()
