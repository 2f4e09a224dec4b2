package json

// appendCanonical appends the string at b[i], quotes included, as encoding/json prints its text,
// and returns the index after it. Null gives the empty string, as decoding null into a Go string
// does; for any other value the index is -1.
func appendCanonical(dst, b []byte, i int) ([]byte, int) {
	if end := canonicalString(b, i); end >= 0 {
		return append(dst, b[i:end]...), end
	}
	end := skipValue(b, i)
	if end < 0 {
		return dst, -1
	}
	switch v := Value(b[i:end]); v.Kind() {
	case String:
		text, _ := v.Bytes()
		return AppendString(dst, text), end
	case Null:
		return append(dst, '"', '"'), end
	}
	return dst, -1
}

// canonicalString returns the index after the string at b[i] if it is spelled as encoding/json
// would print it; -1 says nothing: strings with \u escapes or bytes beyond ASCII are not looked at
// closely.
func canonicalString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	i = plainRun(b, i+1)
	for i+1 < len(b) && b[i] == '\\' && shortEscape[b[i+1]] {
		i = plainRun(b, i+2)
	}
	if i < len(b) && b[i] == '"' {
		return i + 1
	}
	return -1
}

// shortEscape marks the bytes that follow a backslash in the escapes that encoding/json prints,
// except u.
var shortEscape = [256]bool{'"': true, '\\': true, 'n': true, 't': true, 'r': true, 'b': true, 'f': true}
