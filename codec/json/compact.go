package json

// AppendCompact appends src without the space between its tokens and with <,
// > and & and U+2028 and U+2029 escaped inside strings, as encoding/json
// prints what a json.Marshaler gave it. Escapes, number spellings and the
// order of members stay as they are.
//
// The error is ErrTruncated if a string does not end; nothing more is
// checked. dst is then returned unchanged.
func AppendCompact(dst, src []byte) ([]byte, error) {
	base, run := len(dst), 0
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			end, t := skipString(src, i)
			if end < 0 {
				return dst[:base], at(ErrTruncated, "JSON string", i)
			}
			if t&wide != 0 || hasHTML(src[i:end]) {
				dst = append(dst, src[run:i]...)
				dst = appendHTMLEscaped(dst, src[i:end])
				run = end
			}
			i = end
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			dst = append(dst, src[run:i]...)
			i++
			run = i
		default:
			i++
		}
	}
	return append(dst, src[run:]...), nil
}

func hasHTML(b []byte) bool {
	for _, c := range b {
		if c == '<' || c == '>' || c == '&' {
			return true
		}
	}
	return false
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

// appendCanonical appends the string v, quotes included, as encoding/json
// would print its text. Null gives the empty string, as decoding it into a Go
// string does; ok is false for anything else.
func appendCanonical(dst []byte, v Value) (out []byte, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		if v.Kind() == Null {
			return append(dst, '"', '"'), true
		}
		return dst, false
	}
	if isCanonical(v[1 : len(v)-1]) {
		return append(dst, v...), true
	}
	text, ok := v.Bytes()
	return AppendString(dst, text), ok
}

// isCanonical tells for certain only when raw, what stands between a string's
// quotes, is what encoding/json would have written. It knows ASCII and the
// commonest escapes; false means "look closer".
func isCanonical(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if plain[c] {
			continue
		}
		if c != '\\' || i+1 >= len(raw) {
			return false
		}
		i++
		switch raw[i] {
		case '"', '\\', 'n', 't', 'r', 'b', 'f':
		default:
			return false
		}
	}
	return true
}
