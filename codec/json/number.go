package json

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"unsafe"
)

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
