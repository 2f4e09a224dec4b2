package json

import "math"

// Indentation grows with the square of the depth: an object of 190 KB has become 405 MB long. Ordinary
// objects become less than four times as long.
const (
	indentFactor = 16
	indentFloor  = 64 << 10
)

// MaxIndented returns how long the indented form of a value of n bytes may be, in JSON or YAML.
func MaxIndented(n int) int { return indentFactor*n + indentFloor }

// AppendBoundedIndent is AppendIndent for a value that somebody may have made to expand, or for several with
// commas between them. If one of them became longer than MaxIndented permits, it returns ErrExpands, and
// dst unchanged.
func AppendBoundedIndent(dst, src []byte, depth int) ([]byte, error) {
	out, ok := appendIndent(dst, src, depth, true)
	if !ok {
		return dst, ErrExpands
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
	dst, _ = appendIndent(dst, src, depth, false)
	return dst
}

// appendIndent is AppendIndent. If bounded, it stops and returns false once a value is too long.
func appendIndent(dst, src []byte, depth int, bounded bool) ([]byte, bool) {
	opened := false                          // the last token was an opening bracket
	outer, from, begin := depth, 0, len(dst) // of the present value: its level, where it begins in src and in dst
	limit := math.MaxInt
	if bounded {
		limit = begin + MaxIndented(len(src)) // where the value ends is not known yet
	}
	for i := 0; i < len(src); {
		if len(dst) > limit {
			return dst, false
		}
		c := src[i]
		if isSpace(c) {
			i++
			continue
		}
		if c == '}' || c == ']' {
			depth--
			if !opened {
				dst = appendLine(dst, depth)
			}
			dst, opened = append(dst, c), false
			i++
			continue
		}
		if opened {
			dst, opened = appendLine(dst, depth), false
		}
		switch c {
		case '"':
			end, _ := SkipString(src, i)
			if end < 0 {
				end = len(src)
			}
			dst = append(dst, src[i:end]...)
			i = end
			continue
		case '{', '[':
			dst, opened = append(dst, c), true
			depth++
		case ',':
			between := bounded && depth == outer
			if between && len(dst)-begin > MaxIndented(i-from) {
				return dst, false
			}
			if dst = appendLine(append(dst, c), depth); between {
				from, begin = i+1, len(dst)
				limit = begin + MaxIndented(len(src)-from)
			}
		case ':':
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	if opened {
		dst = appendLine(dst, depth)
	}
	return dst, !bounded || len(dst)-begin <= MaxIndented(len(src)-from)
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
