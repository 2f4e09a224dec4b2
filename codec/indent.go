package codec

// indentStep is what each level of the apiserver's pretty JSON is indented by.
const indentStep = "  "

// appendIndented appends src, one well-formed compact JSON value, as encoding/json indents it: two spaces a level, empty
// objects and arrays on one line, no newline at the end. depth is the level at which the value itself stands. src may also
// be a value's beginning or its end; for an end, depth is the level of what it closes.
func appendIndented(dst, src []byte, depth int) []byte {
	inString, escaped := false, false
	for i, c := range src {
		switch {
		case inString:
			dst = append(dst, c)
			inString = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			dst = append(dst, c)
			inString = true
		case c == '{' || c == '[':
			dst = append(dst, c)
			depth++
			if !closes(src, i+1) {
				dst = appendLine(dst, depth)
			}
		case c == '}' || c == ']':
			depth--
			if i == 0 || src[i-1] != c-2 { // '{' and '[' come two before their closing
				dst = appendLine(dst, depth)
			}
			dst = append(dst, c)
		case c == ',':
			dst = appendLine(append(dst, c), depth)
		case c == ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func closes(src []byte, i int) bool { return i < len(src) && (src[i] == '}' || src[i] == ']') }

func appendLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, indentStep...)
	}
	return dst
}
