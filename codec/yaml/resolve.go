package yaml

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"sluice/codec/json"
)

// isString reports whether the text, as a plain scalar, is a string and not null, a bool, a number,
// a time or a merge, by the rules of the emitter of yaml/v2. These follow YAML 1.1 loosely, and
// quote base 60 numbers although the parser reads them as strings.
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

// isWord reports whether s is a reserved word.
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

// isPointFloat reports whether s, which begins with a point, is a float for strconv.
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

// isNumber reports whether s, which begins with a digit or sign, is an integer or float: decimal or
// with a base prefix of Go, with underscores anywhere.
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
	// The rest has an exponent, is very long or, most often, is not a number.
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
	// yaml/v2 also accepts a sign after 0b.
	if rest, ok := bytes.CutPrefix(bare, []byte("0b")); ok {
		return len(rest) > 1 && (rest[0] == '-' || rest[0] == '+') && fits(rest[1:], 2, rest[0] == '-', false)
	}
	return false
}

// numeric marks the bytes that numbers consist of.
var numeric = func() (t [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEFxXoO_+-.") {
		t[c] = true
	}
	return t
}()

// isInteger reports whether s is an integer in the syntax of Go that fits int64 or, without a sign,
// uint64.
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

// fits reports whether the digits are a number of 63 bits, or 64 if unsigned.
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

// isDecimal reports whether b is [-+]?(\.d+|d+(\.d*)?)([eE][-+]?d+)?.
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

// isBase60 reports whether s is [-+]?d[d_]*(:[0-5]?d)+(\.[d_]*)?.
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

// isTime reports whether s is a time in one of the layouts of the parser. All of them begin with a
// year of four digits and a dash.
func isTime(s []byte) bool {
	if len(s) < 5 || digits(s[:5], 0) != 4 || s[4] != '-' {
		return false
	}
	if json.IsTimestamp(s) {
		return true
	}
	for _, form := range []string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999",
		"2006-1-2"} {
		if _, err := time.Parse(form, string(s)); err == nil {
			return true
		}
	}
	return false
}
