package json

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Indentation grows with the square of the depth: an object of 190 KB has become 405 MB long. Ordinary
// objects become less than four times as long.
const (
	indentFactor = 16
	indentFloor  = 64 << 10
)

// MaxIndented returns how long the indented form of a value of n bytes may be, in JSON or YAML.
func MaxIndented(n int) int { return indentFactor*n + indentFloor }

// AppendBoundedIndent is AppendIndent for a value that somebody may have made to expand, or for several with
// commas between them. If one of them became longer than MaxIndented permits, it returns ErrSize, and
// dst unchanged. places holds ascending offsets into src, each within a JSON string. They are replaced by the offsets of the
// same bytes in the result.
func AppendBoundedIndent(dst, src []byte, depth int, places []int) ([]byte, error) {
	out, ok := appendIndent(dst, src, depth, true, places)
	if !ok {
		return dst, ErrSize
	}
	return out, nil
}

// AppendIndent appends src with the indentation that the apiserver gives pretty JSON: two spaces
// per level, empty objects and arrays on one line, no newline at the end. For one whole value at
// depth 0 the bytes are those of encoding/json.Indent. depth is the level at which the value stands
// inside a larger document: each line after the first is indented by that many more levels.
//
// src may also be the beginning of a document, up to and including an open bracket, or the rest of
// one; depth is then the level of the first member or element in src. After an open bracket at the
// end of src comes the line break and the indentation of the element that the caller appends next.
func AppendIndent(dst, src []byte, depth int) []byte {
	dst, _ = appendIndent(dst, src, depth, false, nil)
	return dst
}

// appendIndent is AppendIndent, with the places of AppendBoundedIndent. If bounded, it stops and returns false once a value is
// too long.
//
// It copies whole words and lines, which may write behind what it appends: out always has room for the rest of src, and
// for a line and slack besides.
func appendIndent(dst, src []byte, depth int, bounded bool, places []int) ([]byte, bool) {
	opened := false                          // the last token was an opening bracket
	outer, from, begin := depth, 0, len(dst) // of the present value: its level, where it begins in src and in dst
	limit := math.MaxInt
	if bounded {
		limit = begin + MaxIndented(len(src)) // where the value ends is not known yet
	}
	out, n := dst[:cap(dst)], len(dst)
	for i := 0; i < len(src); {
		if n > limit {
			return out[:n], false
		}
		if rest := len(src) - i; len(out)-n < rest+2*depth+slack {
			out = slices.Grow(out[:n], 2*(rest+depth+slack))
			out = out[:cap(out)]
		}
		c := src[i]
		kind := class[c]
		if kind&shut != 0 {
			if depth--; !opened {
				n = putLine(out, n, depth)
			}
			out[n], opened = c, false
			n, i = n+1, i+1
			continue
		}
		if isSpace(c) {
			i++
			continue
		}
		if opened {
			n, opened = putLine(out, n, depth), false
		}
		switch {
		case kind&quote != 0:
			further := n - i
			n, i = putString(out, n, src, i)
			for ; len(places) > 0 && places[0] < i; places = places[1:] {
				places[0] += further
			}
			if i < len(src) && src[i] == ':' {
				out[n], out[n+1] = ':', ' '
				n, i = n+2, i+1
			}
			continue
		case kind&scalar != 0:
			for ; i < len(src) && class[src[i]]&scalar != 0; i++ {
				out[n] = src[i]
				n++
			}
			continue
		case kind&open != 0:
			opened = true
			depth++
		case c == ':':
			out[n], c = c, ' '
			n++
		case c == ',':
			out[n] = c
			between := bounded && depth == outer
			if between && n-begin > MaxIndented(i-from) {
				return out[:n], false
			}
			if n = putLine(out, n+1, depth); between {
				from, begin = i+1, n
				limit = begin + MaxIndented(len(src)-from)
			}
			i++
			continue
		}
		out[n] = c
		n, i = n+1, i+1
	}
	if out = out[:n]; opened {
		out = appendLine(out, depth)
	}
	return out, !bounded || len(out)-begin <= MaxIndented(len(src)-from)
}

// slack is how far the put functions may write behind what they put, and more than a token besides strings takes.
const slack = 64

// newLine is a line break and the indentation of the levels up to putLine's limit.
var newLine = [32]byte([]byte("\n                               "))

// putLine puts a line break and an indentation at out[n], and returns where it ends.
func putLine(out []byte, n, depth int) int {
	if uint(depth) < uint(len(newLine)/2) {
		*(*[len(newLine)]byte)(out[n:]) = newLine
		return n + 1 + 2*depth
	}
	return len(appendLine(out[:n], depth))
}

// putString copies the string that begins at src[i] to out[n], and returns where both end.
func putString(out []byte, n int, src []byte, i int) (int, int) {
	for {
		out[n] = src[i] // a quote, or what is escaped
		n, i = n+1, i+1
		for i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(out[n:], w)
			q, e := w^('"'*lowBits), w^('\\'*lowBits)
			if m := ((q-lowBits) & ^q | (e-lowBits) & ^e) & highBits; m != 0 {
				k := bits.TrailingZeros64(m) >> 3
				n, i = n+k, i+k
				break
			}
			n, i = n+8, i+8
		}
		for ; i < len(src) && src[i] != '"' && src[i] != '\\'; i++ {
			out[n] = src[i]
			n++
		}
		if i == len(src) {
			return n, i
		}
		c := src[i]
		out[n] = c
		if n, i = n+1, i+1; c == '"' || i == len(src) {
			return n, i
		}
	}
}

// appendLine begins a new line at the given level.
func appendLine(dst []byte, depth int) []byte {
	const spaces = "                                "
	dst = append(dst, '\n')
	for depth *= 2; depth > len(spaces); depth -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:max(depth, 0)]...)
}
