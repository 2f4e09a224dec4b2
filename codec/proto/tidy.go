package proto

import (
	"encoding/binary"
	"math/bits"
)

// tidy reports whether src is JSON made of nothing but objects within objects,
// with not a byte that compactJSON would change. That is the form of managed
// fields, as the apiserver writes them; they are a third of many an object, and
// this is about four times as fast as compactJSON. False says nothing.
//
// One loop without calls, which looks at eight bytes of a key at a time.
func tidy(src []byte) bool {
	if len(src) < 2 || src[0] != '{' {
		return false
	}
	if src[1] == '}' {
		return len(src) == 2
	}
	depth, i := 1, 1
	for {
		if i >= len(src) || src[i] != '"' {
			return false
		}
		i++
	text:
		for {
			if i+8 > len(src) {
				// Less than a word before the end: the last strings of all.
				if i+1 >= len(src) {
					return false
				}
				if c := src[i]; c != '"' && c != '\\' {
					if !verbatim[c] {
						return false
					}
					i++
					continue
				}
			} else {
				m := escapable(binary.LittleEndian.Uint64(src[i:]))
				if m == 0 {
					i += 8
					continue
				}
				i += bits.TrailingZeros64(m) >> 3
			}
			switch src[i] {
			case '"':
				break text
			case '\\':
				if n := escapeLen(src[i:]); n != 0 {
					i += n
					continue
				}
			}
			return false
		}
		if i+3 >= len(src) || src[i+1] != ':' || src[i+2] != '{' {
			return false
		}
		i += 3
		if depth++; depth > maxDepth {
			return false
		}
		if src[i] == '"' {
			continue
		}
		for i < len(src) && src[i] == '}' {
			i++
			if depth--; depth == 0 {
				return i == len(src)
			}
		}
		if i >= len(src) || src[i] != ',' || src[i-1] != '}' {
			return false
		}
		i++
	}
}
