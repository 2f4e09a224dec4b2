package json

import (
	"strconv"
	"unsafe"
)

// Int returns the value of a number that is written as an integer and fits
// 64 bits; ok is false for anything else, also for 1.0 and 1e3.
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

// Float returns the value of a number; ok is false for anything else and for
// numbers beyond float64.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	// The string lives only for the call and nothing keeps it.
	f, err := strconv.ParseFloat(unsafe.String(&v[0], len(v)), 64)
	return f, err == nil
}

// validNumber tells whether b is a number as JSON's grammar has it.
func validNumber(b []byte) bool {
	i := 0
	if b[0] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return false
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return false
		}
		i += 1 + n
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(b)
}

// digits counts the decimal digits at the start of b.
func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}
