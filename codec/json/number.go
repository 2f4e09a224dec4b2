package json

import (
	"strconv"
	"unsafe"
)

// Int returns the value of a number that is spelled as an integer and fits int64; ok is false for
// every other value, 1.0 and 1e3 included.
func (v Value) Int() (n int64, ok bool) {
	digits, negative := []byte(v), false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0') // at most 19 digits: fits 64 bits unsigned
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), true
	case !negative && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// Float returns the value of a number; ok is false for other kinds and for numbers beyond float64.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(unsafe.String(&v[0], len(v)), 64) // does not keep the string
	return f, err == nil
}
