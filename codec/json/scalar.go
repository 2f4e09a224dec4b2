package json

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"

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

// Int returns the value of a number that is spelled as an integer and fits int64; ok is false for
// every other value, 1.0 and 1e3 included.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != Number || bytes.ContainsAny(v, ".eE") {
		return 0, false
	}
	n, err := strconv.ParseInt(unsafe.String(&v[0], len(v)), 10, 64) // does not keep the string
	if err != nil {
		return 0, false
	}
	return n, true
}

// Float returns the value of a number; ok is false for other kinds and for numbers beyond float64.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(unsafe.String(&v[0], len(v)), 64) // does not keep the string
	return f, err == nil
}

// AppendFloat appends a finite number as encoding/json prints it.
func AppendFloat(dst []byte, f float64) []byte {
	b, _ := stdjson.Marshal(f)
	return append(dst, b...)
}

// Field returns the text that a field selector compares for the scalar at path, as apiextensions
// prints selectable fields: the text of a string, the digits of a number that fits int64, the
// shortest spelling of any other float64 (1e+06, 0.5), true or false, and "" for null and absent
// fields. ok is false for objects and arrays, which cannot be selectable fields.
func (v Value) Field(path ...string) (text string, ok bool) {
	f := v.Get(path...)
	switch f.Kind() {
	case Invalid, Null:
		return "", true
	case String:
		return f.Text()
	case Bool:
		return string(f), true
	case Number:
		if n, ok := f.Int(); ok {
			return strconv.FormatInt(n, 10), true
		}
		n, ok := f.Float()
		return strconv.FormatFloat(n, 'g', -1, 64), ok
	}
	return "", false
}
