package yaml

import (
	"cmp"
	"unicode"
	"unicode/utf8"
)

// compare orders names in the way of yaml/v2 (sorter.go): letters after all other runes, and runs
// of digits by their value.
func compare(a, b []byte) int {
	i := 0
	for n := min(len(a), len(b)); i < n && a[i] == b[i]; {
		i++
	}
	if i == len(a) || i == len(b) {
		if i == len(a) && i == len(b) {
			return 0
		}
		if i == 0 || i < len(a) && utf8.RuneStart(a[i]) || i < len(b) && utf8.RuneStart(b[i]) {
			return cmp.Compare(len(a), len(b))
		}
	}
	if i < len(a) && i < len(b) && class[a[i]]&class[b[i]]&letter != 0 {
		return cmp.Compare(a[i], b[i])
	}
	for i > 0 && (i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i])) {
		i--
	}
	return compareAt(a, b, i)
}

// compareAt compares two names that first differ in the rune at i.
func compareAt(a, b []byte, i int) int {
	ar, _ := utf8.DecodeRune(a[i:])
	br, _ := utf8.DecodeRune(b[i:])
	al, bl := unicode.IsLetter(ar), unicode.IsLetter(br)
	switch {
	case al && bl:
		return cmp.Compare(ar, br)
	case bl:
		return -1
	case al:
		return 1
	}
	// A zero counts as part of the number before it, if there is one.
	var before int64
	if (ar == '0' || br == '0') && endsInNumber(a[:i]) {
		before = 1
	}
	an, ai := number(a[i:], before)
	bn, bi := number(b[i:], before)
	if an != bn {
		return cmp.Compare(an, bn)
	}
	if ai != bi {
		return cmp.Compare(ai, bi)
	}
	return cmp.Compare(ar, br)
}

// endsInNumber reports whether s ends in digits that are not all zeros.
func endsInNumber(s []byte) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeLastRune(s)
		if !unicode.IsDigit(r) {
			return false
		}
		if r != '0' {
			return true
		}
		s = s[:len(s)-n]
	}
	return false
}

// number appends the digits at the start of s to n and returns the result and the number of digits.
// It overflows in the same way as yaml/v2.
func number(s []byte, n int64) (int64, int) {
	count := 0
	for len(s) > 0 {
		r, w := utf8.DecodeRune(s)
		if !unicode.IsDigit(r) {
			break
		}
		n = n*10 + int64(r-'0')
		count++
		s = s[w:]
	}
	return n, count
}
