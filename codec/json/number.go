package json

import (
	"bytes"
	"math"
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

// AppendFloat appends a finite number as encoding/json prints a float64: with an exponent only below
// 1e-6 and from 1e21.
func AppendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && string(dst[n-4:n-1]) == "e-0" {
		dst = append(dst[:n-2], dst[n-1]) // e-09 becomes e-9
	}
	return dst
}
