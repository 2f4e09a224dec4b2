package json

// appendCompactValue appends the value that begins at b[i] without the space
// between its tokens and with <, > and & and U+2028 and U+2029 escaped inside
// strings, as encoding/json prints what a json.Marshaler gave it. Escapes,
// number spellings and the order of members stay as they are. It returns the
// index after the value, or -1 if it does not end; nothing more is checked.
func appendCompactValue(dst, b []byte, i int) ([]byte, int) {
	run, depth := i, 0
	for i < len(b) {
		switch c := b[i]; class[c] {
		case quote:
			end, html := htmlString(b, i)
			if end < 0 {
				return dst, -1
			}
			if html {
				dst = append(dst, b[run:i]...)
				dst = appendHTMLEscaped(dst, b[i:end])
				run = end
			}
			i = end
		case scalar:
			i = skipScalar(b, i)
		case open:
			depth++
			i++
			continue
		case shut:
			depth--
			i++
		default:
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				dst = append(dst, b[run:i]...)
				run = i + 1
			}
			i++
			continue
		}
		if depth <= 0 {
			return append(dst, b[run:i]...), i
		}
	}
	return dst, -1
}

// htmlString skips the string at b[i] and tells whether it may hold something
// that HTML or JavaScript need escaped.
func htmlString(b []byte, i int) (end int, html bool) {
	for i = plainRun(b, i+1); i < len(b); i = plainRun(b, i+1) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, html
		case c == '\\':
			i++
		default:
			html = html || c >= '&' // not for control characters
		}
	}
	return -1, html
}

// appendHTMLEscaped appends raw string bytes, escaping nothing but what HTML
// and JavaScript need escaped.
func appendHTMLEscaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '<' || c == '>' || c == '&':
			dst = appendEscaped(dst, c)
		case c == 0xe2 && i+2 < len(raw) && raw[i+1] == 0x80 && raw[i+2]&^1 == 0xa8:
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[raw[i+2]&0xf])
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendCanonical appends the string at b[i], quotes included, as
// encoding/json would print its text, and returns the index after it. Null
// gives the empty string, as decoding it into a Go string does; for anything
// else the index is -1.
func appendCanonical(dst, b []byte, i int) ([]byte, int) {
	if i >= len(b) || b[i] != '"' {
		if end := skipValue(b, i); end > 0 && string(b[i:end]) == "null" {
			return append(dst, '"', '"'), end
		}
		return dst, -1
	}
	j := plainRun(b, i+1)
	for j+1 < len(b) && b[j] == '\\' && shortEscape[b[j+1]] {
		j = plainRun(b, j+2)
	}
	if j < len(b) && b[j] == '"' {
		return append(dst, b[i:j+1]...), j + 1
	}
	end, t := skipString(b, i)
	if end < 0 {
		return dst, -1
	}
	return AppendString(dst, unquote(b[i+1:end-1], t)), end
}

// shortEscape marks what follows a backslash in the escapes that encoding/json
// prints other than \u.
var shortEscape = [256]bool{'"': true, '\\': true, 'n': true, 't': true, 'r': true, 'b': true, 'f': true}
