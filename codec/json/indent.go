package json

import (
	"math"
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
func appendIndent(dst, src []byte, depth int, bounded bool, places []int) ([]byte, bool) {
	opened := false                          // the last token was an opening bracket
	outer, from, begin := depth, 0, len(dst) // of the present value: its level, where it begins in src and in dst
	limit := math.MaxInt
	if bounded {
		limit = begin + MaxIndented(len(src)) // where the value ends is not known yet
	}
	dst = slices.Grow(dst, len(src)+slack)
	for i := 0; i < len(src) && len(dst) <= limit; {
		c := src[i]
		kind := class[c]
		if isSpace(c) {
			i++
			continue
		}
		if kind&shut != 0 {
			depth--
		}
		if opened != (kind&shut != 0) { // a first member or element, or a bracket behind the last one
			dst = appendLine(dst, depth)
		}
		opened = kind&open != 0
		end := i + 1
		switch {
		case kind&quote != 0:
			if end, _ = SkipString(src, i); end < 0 {
				end = len(src) // of a part of a document
			}
			for ; len(places) > 0 && places[0] < end; places = places[1:] {
				places[0] += len(dst) - i
			}
		case kind&scalar != 0:
			for end < len(src) && class[src[end]]&scalar != 0 {
				end++
			}
		case opened:
			depth++
		}
		dst, i = append(dst, src[i:end]...), end
		switch c {
		case ':':
			dst = append(dst, ' ')
		case ',':
			between := bounded && depth == outer
			if between && len(dst)-1-begin > MaxIndented(i-1-from) {
				return dst, false
			}
			if dst = appendLine(dst, depth); between {
				from, begin = i, len(dst)
				limit = begin + MaxIndented(len(src)-from)
			}
		}
	}
	if opened {
		dst = appendLine(dst, depth)
	}
	return dst, !bounded || len(dst)-begin <= MaxIndented(len(src)-from)
}

// slack is how much longer than its source a short value may become before its buffer grows.
const slack = 64

// appendLine begins a new line at the given level.
func appendLine(dst []byte, depth int) []byte {
	const spaces = "                                "
	dst = append(dst, '\n')
	for depth *= 2; depth > len(spaces); depth -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:max(depth, 0)]...)
}
