package json

import (
	"encoding/binary"
	"math/bits"
)

// What follows finds where values end. It does not check that they are
// well-formed beyond what finding the end needs; each function returns an
// index into b just past what it skipped, or -1.

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// skipSpace returns the first index from i on that holds no JSON space,
// which may be len(b).
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipString skips the string whose opening quote is b[i]. Eight bytes are
// looked at in one step, because strings are most of what an object is.
func skipString(b []byte, i int) (int, Traits) {
	var t Traits
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
				t |= Wide
			}
			return i + 1, t
		}
		t |= Escaped
		i += 2
	}
}

// plainRun returns the index from i on of the first byte that encoding/json
// may not write into a string as it is: quotes, backslashes, control
// characters, <, > and &, and everything that is not ASCII; len(b) if there
// is none.
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

// skipValue skips the value that begins at b[i], which must not be space.
func skipValue(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		end, _ := skipString(b, i)
		return end
	case c == '{' || c == '[':
		return skipContainer(b, i)
	default:
		return skipScalar(b, i)
	}
}

// skipScalar skips a number or a literal: everything up to what may follow one.
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

// skipContainer skips the array or object that begins at b[i] by counting
// brackets outside strings; nesting costs no stack.
func skipContainer(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch class[b[i]] & (open | shut | quote) {
		case 0:
			i++
		case quote:
			if i, _ = skipString(b, i); i < 0 {
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

// class sorts bytes by what they mean outside strings.
var class = func() (t [256]uint8) {
	for _, c := range []byte("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = scalar
	}
	t['{'], t['['], t['}'], t[']'], t['"'] = open, open, shut, shut, quote
	return t
}()
