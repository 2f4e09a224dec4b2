package yaml

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// isString tells whether the text, printed plain, would be read back as a
// string and not as null, a bool, a number, a time or a merge. The answer is
// the emitter's: it follows YAML 1.1 loosely, and quotes base 60 numbers
// although it reads them as strings.
func isString(s []byte) bool {
	if len(s) == 0 {
		return false
	}
	switch c := s[0]; {
	case '0' <= c && c <= '9', c == '+', c == '-':
		return !isNumber(s) && !isTime(s) && !isBase60(s) && !isWord(s)
	case c == '.':
		return !isWord(s) && !isPointFloat(s)
	case c == '~', c|0x20 == 'y', c|0x20 == 'n', c|0x20 == 't', c|0x20 == 'f', c|0x20 == 'o':
		return !isWord(s)
	}
	return true
}

// isWord tells whether s is one of the words that are no strings.
func isWord(s []byte) bool {
	if len(s) > 5 {
		return false
	}
	switch string(s) {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
		"~", "null", "Null", "NULL",
		".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return true
	}
	return false
}

// isPointFloat tells whether s, which begins with a point, is a float as Go
// reads it.
func isPointFloat(s []byte) bool {
	if len(s) < 2 || s[1] < '0' || s[1] > '9' {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && !strings.ContainsRune(".eE+-_", rune(c)) {
			return false
		}
	}
	_, err := strconv.ParseFloat(string(s), 64)
	return err == nil
}

// isNumber tells whether s, which begins with a digit or sign, is an integer
// or float: decimal, or with one of Go's prefixes, underscores anywhere.
func isNumber(s []byte) bool {
	if bytes.IndexByte(s, '_') >= 0 {
		return isGoNumber(s)
	}
	i := 0
	if s[0] == '+' || s[0] == '-' {
		i++
	}
	if i+1 < len(s) && s[i] == '0' && strings.IndexByte("xXoObB", s[i+1]) >= 0 {
		return isGoNumber(s)
	}
	whole := i
	i = digits(s, i)
	whole = i - whole
	if i == len(s) && whole > 0 {
		return len(s) < 300 || isGoNumber(s) // integer, or at worst a float
	}
	fraction := 0
	if i < len(s) && s[i] == '.' {
		end := digits(s, i+1)
		fraction = end - i - 1
		i = end
	}
	if whole+fraction == 0 {
		return false
	}
	if i == len(s) && len(s) < 300 {
		return true
	}
	// With an exponent, very long, or not a number: mostly the last.
	if i < len(s) && s[i]|0x20 != 'e' {
		return false
	}
	return isGoNumber(s)
}

// digits returns the index after the decimal digits that begin at i.
func digits(s []byte, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// isGoNumber is isNumber without shortcuts.
func isGoNumber(s []byte) bool {
	for _, c := range s {
		if !numeric[c] {
			return false
		}
	}
	var buf [64]byte
	bare := buf[:0]
	for _, c := range s {
		if c != '_' {
			bare = append(bare, c)
		}
	}
	if isInteger(bare) {
		return true
	}
	if isDecimal(bare) {
		_, err := strconv.ParseFloat(string(bare), 64)
		return err == nil
	}
	// Base 2 once more, the way older Go needed it: a sign may follow 0b.
	if rest, ok := bytes.CutPrefix(bare, []byte("0b")); ok {
		return len(rest) > 1 && (rest[0] == '-' || rest[0] == '+') && fits(rest[1:], 2, rest[0] == '-', false)
	}
	return false
}

// numeric marks the bytes that can be in a number.
var numeric = func() (t [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEFxXoO_+-.") {
		t[c] = true
	}
	return t
}()

// isInteger tells whether s is an integer of Go's syntax that fits an int64,
// or without a sign a uint64.
func isInteger(s []byte) bool {
	if len(s) == 0 {
		return false
	}
	signed, negative := s[0] == '+' || s[0] == '-', s[0] == '-'
	if signed {
		s = s[1:]
	}
	base := 10
	if len(s) > 0 && s[0] == '0' {
		base = 8
		if len(s) > 2 {
			switch s[1] | 0x20 {
			case 'x':
				base, s = 16, s[2:]
			case 'b':
				base, s = 2, s[2:]
			case 'o':
				base, s = 8, s[2:]
			}
		}
	}
	return fits(s, base, negative, !signed)
}

// fits tells whether the digits make a number of 63 bits, or 64 if unsigned.
func fits(s []byte, base int, negative, unsigned bool) bool {
	var n uint64
	for _, c := range s {
		d := 99
		switch {
		case '0' <= c && c <= '9':
			d = int(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = int(c|0x20-'a') + 10
		}
		hi, lo := bits.Mul64(n, uint64(base))
		if d >= base || hi != 0 || lo+uint64(d) < lo {
			return false
		}
		n = lo + uint64(d)
	}
	return len(s) > 0 && (unsigned || n < 1<<63 || negative && n == 1<<63)
}

// isDecimal tells whether b is [-+]?(\.d+|d+(\.d*)?)([eE][-+]?d+)?.
func isDecimal(b []byte) bool {
	i := 0
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	start := i
	i = digits(b, i)
	whole := i - start
	fraction := 0
	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		fraction = end - i - 1
		i = end
	}
	if whole == 0 && fraction == 0 {
		return false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(b, i); i == start {
			return false
		}
	}
	return i == len(b)
}

// isBase60 tells whether s is [-+]?d[d_]*(:[0-5]?d)+(\.[d_]*)?.
func isBase60(s []byte) bool {
	i := 0
	if s[0] == '+' || s[0] == '-' {
		i++
	}
	if i == len(s) || s[i] < '0' || s[i] > '9' || bytes.IndexByte(s, ':') < 0 {
		return false
	}
	i = digitsOrBars(s, i)
	if i == len(s) || s[i] != ':' {
		return false
	}
	for i < len(s) && s[i] == ':' {
		end := digits(s, i+1)
		if n := end - i - 1; n == 0 || n > 2 || n == 2 && s[i+1] > '5' {
			return false
		}
		i = end
	}
	if i < len(s) && s[i] == '.' {
		i = digitsOrBars(s, i+1)
	}
	return i == len(s)
}

func digitsOrBars(s []byte, i int) int {
	for i < len(s) && ('0' <= s[i] && s[i] <= '9' || s[i] == '_') {
		i++
	}
	return i
}

// isTime tells whether s is a time in one of the forms the parser knows. They
// all begin with a year of four digits and a dash.
func isTime(s []byte) bool {
	if len(s) < 5 || digits(s[:5], 0) != 4 || s[4] != '-' {
		return false
	}
	if isUTC(s) {
		return true
	}
	for _, form := range []string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2"} {
		if _, err := time.Parse(form, string(s)); err == nil {
			return true
		}
	}
	return false
}

// isUTC tells for certain only when s is a time as Kubernetes prints it. Days
// above 28 are left to time.Parse.
func isUTC(s []byte) bool {
	const form = "0000-00-00T00:00:00Z"
	if len(s) != len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if c == '0' && (s[i] < '0' || s[i] > '9') || c != '0' && s[i] != c {
			return false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	month, day := two(5), two(8)
	return month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(11) < 24 && two(14) < 60 && two(17) < 60
}
