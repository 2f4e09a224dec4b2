package json

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the text of a string; ok is false for other kinds.
func (v Value) Text() (s string, ok bool) {
	b, ok := v.Bytes()
	return string(b), ok
}

// Bytes returns the text of a string, aliasing v if it has no escapes; ok is false for other kinds.
func (v Value) Bytes() (text []byte, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, false
	}
	end, t := SkipString(v, 0)
	if end != len(v) {
		return nil, false
	}
	return unquote(v[1:end-1:end-1], t), true
}

// AppendText appends the text of a string to dst; ok is false for other kinds.
func (v Value) AppendText(dst []byte) (out []byte, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return dst, false
	}
	end, t := SkipString(v, 0)
	if end != len(v) {
		return dst, false
	}
	if t == 0 {
		return append(dst, v[1:end-1]...), true
	}
	return AppendUnquoted(dst, v[1:end-1]), true
}

// unquote returns the text of raw, the bytes between the quotes of a string. It aliases raw if that
// needs no change.
func unquote(raw []byte, t StringFlags) []byte {
	if t == 0 || t == NonASCII && utf8.Valid(raw) {
		return raw
	}
	return AppendUnquoted(make([]byte, 0, len(raw)), raw)
}

// AppendUnquoted appends the text of raw, the bytes between the quotes of a string. Invalid UTF-8
// and invalid escapes become U+FFFD.
func AppendUnquoted(dst, raw []byte) []byte {
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			n = len(raw)
		}
		if n > 0 {
			dst = appendValid(dst, raw[:n])
			raw = raw[n:]
			continue
		}
		dst, n = appendEscape(dst, raw)
		raw = raw[n:]
	}
	return dst
}

// appendValid appends b with each byte of invalid UTF-8 replaced by U+FFFD.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// appendEscape appends the text of the escape sequence at the start of raw and returns its length.
func appendEscape(dst, raw []byte) ([]byte, int) {
	if len(raw) < 2 {
		return utf8.AppendRune(dst, utf8.RuneError), 1
	}
	switch c := raw[1]; c {
	case '"', '\\', '/':
		return append(dst, c), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r, n := hexEscape(raw)
		return utf8.AppendRune(dst, r), n
	}
	return utf8.AppendRune(dst, utf8.RuneError), 2
}

// hexEscape decodes \uXXXX, or a surrogate pair of two, and returns the length that it used. A lone
// surrogate becomes U+FFFD.
func hexEscape(raw []byte) (rune, int) {
	r := hex4(raw)
	if r < 0 {
		return utf8.RuneError, 2
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, hex4(raw[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
}

// hex4 returns the value of the \uXXXX at the start of b, or -1.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
