package codec

import "bytes"

// indentStep is what each level of the apiserver's pretty JSON is indented by.
const indentStep = "  "

// appendIndented appends src, one well-formed compact JSON value, as encoding/json indents it: two spaces a level, empty
// objects and arrays on one line, no newline at the end. depth is the level at which the value itself stands. src may also
// be a value's beginning or its end; for an end, depth is the level of what it closes.
func appendIndented(dst, src []byte, depth int) []byte {
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			end := stringEnd(src, i)
			dst = append(dst, src[i:end]...)
			i = end - 1
		case '{', '[':
			dst = append(dst, c)
			depth++
			if !closes(src, i+1) {
				dst = appendLine(dst, depth)
			}
		case '}', ']':
			depth--
			if i == 0 || src[i-1] != c-2 { // '{' and '[' come two before their closing
				dst = appendLine(dst, depth)
			}
			dst = append(dst, c)
		case ',':
			dst = appendLine(append(dst, c), depth)
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// stringEnd returns where the string that begins at i ends, behind its closing quote.
func stringEnd(src []byte, i int) int {
	for j := i + 1; j < len(src); j++ {
		n := bytes.IndexByte(src[j:], '"')
		if n < 0 {
			break
		}
		j += n
		slashes := 0
		for src[j-1-slashes] == '\\' { // ends at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return j + 1
		}
	}
	return len(src)
}

func closes(src []byte, i int) bool { return i < len(src) && (src[i] == '}' || src[i] == ']') }

func appendLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, indentStep...)
	}
	return dst
}
