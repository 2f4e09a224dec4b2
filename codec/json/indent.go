package json

// AppendIndent appends src as the apiserver prints JSON when asked for it
// pretty: two spaces a level, empty objects and arrays on one line, no
// newline at the end. It is encoding/json's indentation byte for byte.
//
// The error is ErrSyntax or ErrTruncated if src's strings or brackets do not
// match up; nothing more is checked. dst is then returned unchanged.
func AppendIndent(dst, src []byte) ([]byte, error) {
	return AppendIndentAt(dst, src, 0)
}

// AppendIndentAt is AppendIndent for a value that stands depth levels deep in
// something that the caller prints: all lines but the first are indented by
// that much more.
func AppendIndentAt(dst, src []byte, depth int) ([]byte, error) {
	base, outer := len(dst), depth
	fresh := false // an open bracket was printed and nothing after it
	for i := 0; i < len(src); {
		c := src[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		if c == '}' || c == ']' {
			if depth--; depth < outer {
				return dst[:base], at(ErrSyntax, "JSON", i)
			}
			if !fresh {
				dst = appendLine(dst, depth)
			}
			dst, fresh = append(dst, c), false
			i++
			continue
		}
		if fresh {
			dst, fresh = appendLine(dst, depth), false
		}
		switch c {
		case '"':
			end, _ := skipString(src, i)
			if end < 0 {
				return dst[:base], at(ErrTruncated, "JSON string", i)
			}
			dst = append(dst, src[i:end]...)
			i = end
			continue
		case '{', '[':
			dst, fresh = append(dst, c), true
			depth++
		case ',':
			dst = appendLine(append(dst, c), depth)
		case ':':
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
		i++
	}
	if depth != outer {
		return dst[:base], at(ErrTruncated, "JSON", len(src))
	}
	return dst, nil
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
