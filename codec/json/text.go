package json

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Text returns the text of a string; ok is false for other kinds.
func (v Value) Text() (s string, ok bool) {
	b, ok := v.Bytes()
	return string(b), ok
}

// Bytes returns the text of a string, aliasing v if it has no escapes; ok is false for other kinds.
func (v Value) Bytes() (text []byte, ok bool) {
	t, ok := v.flags()
	switch {
	case !ok:
		return nil, false
	case t == 0 || t == nonASCII && utf8.Valid(v):
		return v[1 : len(v)-1 : len(v)-1], true
	}
	return v.AppendText(nil)
}

// AppendText appends the text of a string to dst; ok is false for other kinds.
func (v Value) AppendText(dst []byte) (out []byte, ok bool) {
	t, ok := v.flags()
	switch {
	case !ok:
		return dst, false
	case t == 0:
		return append(dst, v[1:len(v)-1]...), true
	}
	dst, _ = jsontext.AppendUnquote(dst, []byte(v)) // the error is about bytes that are not UTF-8, and are replaced
	return dst, true
}

// flags returns how the raw bytes of a string become text; ok is false for other kinds.
func (v Value) flags() (t stringFlags, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return 0, false
	}
	end, t := SkipString(v, 0)
	return t, end == len(v)
}
