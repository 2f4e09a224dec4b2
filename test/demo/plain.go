package main

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// ansi matches the escape sequences of terminals: CSI, OSC and those of two bytes.
var ansi = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?|\x1b.?`)

// plain returns a terminal's text without escape sequences and control characters, its tabs as spaces.
func plain(s string) string {
	s = ansi.ReplaceAllString(strings.ToValidUTF8(s, "\ufffd"), "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	column := 0
	for _, c := range s {
		switch {
		case c == '\n':
			column = 0
		case c == '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case unicode.IsControl(c) || c == '\ufffe' || c == '\uffff': // XML has no room for these
			continue
		default:
			column += columns(c)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// columns returns the width of a character on a terminal.
func columns(c rune) int {
	switch kind := width.LookupRune(c).Kind(); {
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit returns the part of a line that fits into a number of columns, with an ellipsis if it is not all, and
// its width.
func fit(line string, limit int) (string, int) {
	total, cut := 0, 0 // cut is where the ellipsis would go
	for i, c := range line {
		if total+columns(c) > limit {
			kept, n := fit(line[:cut], limit)
			return kept + "…", n + 1
		}
		total += columns(c)
		if total < limit {
			cut = i + len(string(c))
		}
	}
	return line, total
}
