package yaml

import (
	"bytes"

	"sluice/codec/json"
)

// style is how a text is printed.
type style uint8

const (
	// rare texts need a closer look.
	rare style = iota
	plain
	single // in single quotes
	double // in double quotes, without escapes
	literal
)

// Roles of a byte at the start of a text and inside it.
const (
	printable = 1 << iota // ASCII, neither a space nor a control character
	letter
	digit
	slash     // begins no other type and has no meaning to YAML
	indicator // begins no plain text, and no other type
	numeric   // occurs in numbers and times
)

var class = func() (t [256]uint8) {
	for c := byte('!'); c <= '~'; c++ {
		t[c] = printable
	}
	mark := func(bit uint8, bytes string) {
		for _, c := range []byte(bytes) {
			t[c] |= bit
		}
	}
	mark(letter, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	mark(digit, "0123456789")
	mark(slash, "/")
	mark(indicator, "#,[]{}&*!|>\"%@`")
	mark(numeric, "0123456789abcdefABCDEFxXoOTtZz_+-.,: ")
	return t
}()

// styleOf returns the style in which the emitter of yaml/v2 certainly prints a text, provided that it needs no folding, and
// rare if that is not certain.
func styleOf(s []byte) style {
	if len(s) == 0 {
		return double
	}
	if bytes.IndexByte(s, '\n') >= 0 {
		return blockStyle(s)
	}
	st := rare
	switch c := class[s[0]]; {
	case c&letter != 0:
		if st = plain; isWord(s) {
			st = double
		}
	case c&slash != 0, s[0] == '-' && isOption(s), len(s) == 1 && s[0] == '.':
		st = plain
	case c&indicator != 0:
		st = single
	case c&digit != 0:
		st = digitStyle(s)
	}
	if st == rare || s[len(s)-1] == ' ' {
		return rare
	}
	for i, c := range s {
		switch {
		case class[c] == 0 && c != ' ', c == '\'' && st == single:
			return rare
		case st == plain && (c == ':' && (i+1 == len(s) || s[i+1] == ' ') || c == '#' && i > 0 && s[i-1] == ' '):
			st = single
			if bytes.IndexByte(s, '\'') >= 0 {
				return rare
			}
		}
	}
	return st
}

// blockStyle is styleOf for a text of several lines.
func blockStyle(s []byte) style {
	if s[0] == ' ' || s[0] == '\n' || s[len(s)-1] == ' ' || bytes.Contains(s, []byte(" \n")) {
		return rare
	}
	for _, c := range s {
		if class[c] == 0 && c != ' ' && c != '\n' {
			return rare
		}
	}
	return literal
}

// isWord reports whether YAML reads a text that begins with a letter as null or a bool.
func isWord(s []byte) bool {
	if len(s) > 5 {
		return false
	}
	switch string(s) {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", "null", "Null", "NULL":
		return true
	}
	return false
}

// isOption reports whether a text begins like a command line option: -a or --a.
func isOption(s []byte) bool {
	if len(s) > 1 && s[1] == '-' {
		s = s[1:]
	}
	return len(s) > 1 && class[s[1]]&letter != 0
}

// digitStyle is styleOf for a text that begins with a digit, of which it looks at the type only: most are quantities, numbers,
// addresses and UIDs.
func digitStyle(s []byte) style {
	points, dashes, digits := 0, 0, 0
	noTime := len(s) > 4 && s[4] != '-'                          // a time begins with a year
	decimal := noTime && (s[0] != '0' || class[s[1]]&digit != 0) // a number without a prefix such as 0x, if it is one
	for _, c := range s {
		switch {
		case class[c]&numeric == 0, decimal && class[c]&letter != 0 && c|0x20 != 'e':
			return plain
		case class[c]&digit != 0:
			digits++
		case c == '.':
			points++
		case c == '-':
			dashes++
		}
	}
	switch {
	case digits == len(s) && digits < 300, json.IsTimestamp(s):
		return double
	case noTime && (points > 1 || dashes > 1): // not a number either
		return plain
	}
	return rare
}
