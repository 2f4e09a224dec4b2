package json

import (
	"unicode/utf8"
	"unsafe"
)

const hexDigits = "0123456789abcdef"

// plain marks the ASCII bytes that encoding/json does not escape inside strings when it escapes for
// HTML, as the encoder of the apiserver does.
var plain = func() (t [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

// AppendString appends s as a JSON string with the same bytes as encoding/json: <, >, & and the
// separators U+2028 and U+2029 are escaped, and invalid UTF-8 becomes \ufffd.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	switch s := any(s).(type) {
	case string:
		return appendQuoted(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // not modified
	case []byte:
		return appendQuoted(dst, s)
	}
	return dst
}

func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := plainRun(s, 0); i < len(s); i = plainRun(s, i) {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscaped(dst, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			start = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + n
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscaped appends the escape sequence of an ASCII byte.
func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
