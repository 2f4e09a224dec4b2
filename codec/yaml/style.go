package yaml

import (
	"bytes"
	"unicode/utf8"
)

// style is how a string is printed.
type style uint8

const (
	plain style = iota
	single
	double
	literal
)

// traits are the properties of a text that determine its style.
type traits struct {
	newline bool // has a line feed
	breaks  bool // has any line break: \n, \r, U+0085, U+2028, U+2029
	odd     bool // has a line break other than \n
	special bool // has a rune that needs an escape

	spaced     bool // has a space
	indicator  bool // is YAML syntax if plain
	leading    bool // begins with a space or break
	trailing   bool // ends with a space or break
	spaceLast  bool // ends with a space
	spaceBreak bool // has a space before a break
	breakSpace bool // has a space after a break
}

// Classes of bytes inside a plain scalar.
const (
	harmless = iota
	space
	colon
	hash
	feed    // \n
	control // not printable, \r too
	wide    // not ASCII
)

var inside = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c < ' ' || c == 0x7f:
			t[c] = control
		case c > 0x7f:
			t[c] = wide
		}
	}
	t[' '], t[':'], t['#'], t['\n'] = space, colon, hash, feed
	return t
}()

// first marks the bytes that a plain scalar must not begin with.
var first = func() (t [256]bool) {
	for _, c := range []byte("#,[]{}&*!|>'\"%@`") {
		t[c] = true
	}
	return t
}()

// analyse returns the traits of a text, which must not be empty. It handles ASCII only; analyseAll
// handles other texts.
func analyse(s []byte) (t traits) {
	t.indicator = begins(s)
	last := len(s) - 1
	for i, c := range s {
		switch inside[c] {
		case space:
			t.spaced = true
			t.breakSpace = t.breakSpace || i > 0 && isFeed(s[i-1])
		case colon:
			t.indicator = t.indicator || i == last || s[i+1] == ' ' || s[i+1] == '\t'
		case hash:
			t.indicator = t.indicator || i > 0 && isBlank[s[i-1]]
		case feed:
			t.breaks, t.newline = true, true
			t.spaceBreak = t.spaceBreak || i > 0 && s[i-1] == ' '
		case control:
			t.special = true
			if c == '\r' {
				t.breaks, t.odd = true, true
			}
		case wide:
			return analyseAll(s)
		}
	}
	t.leading = s[0] == ' ' || isFeed(s[0])
	t.spaceLast = s[last] == ' '
	t.trailing = t.spaceLast || isFeed(s[last])
	return t
}

func isFeed(c byte) bool { return c == '\n' || c == '\r' }

// isBlank marks the ASCII bytes after which a # begins a comment.
var isBlank = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, 0: true}

// begins reports whether the start of s is YAML syntax.
func begins(s []byte) bool {
	if first[s[0]] {
		return true
	}
	switch s[0] {
	case '-':
		return len(s) == 1 || s[1] == ' ' || s[1] == '\t' || bytes.HasPrefix(s, dashes)
	case '?', ':':
		return len(s) == 1 || s[1] == ' ' || s[1] == '\t'
	case '.':
		return bytes.HasPrefix(s, dots)
	}
	return false
}

var dashes, dots = []byte("---"), []byte("...")

// analyseAll is analyse for any text.
func analyseAll(s []byte) (t traits) {
	t.indicator = begins(s)
	afterSpace, afterBreak, afterBlank := false, false, true
	for i := 0; i < len(s); {
		c := s[i]
		w := width(s[i:])
		end := i+w >= len(s)
		switch c {
		case ':':
			t.indicator = t.indicator || end || s[i+1] == ' ' || s[i+1] == '\t'
		case '#':
			t.indicator = t.indicator || afterBlank
		}
		t.special = t.special || !printable(s[i:])
		isBreak := breakAt(s[i:])
		switch {
		case c == ' ':
			t.spaced = true
			t.leading = t.leading || i == 0
			t.spaceLast = end
			t.trailing = t.trailing || end
			t.breakSpace = t.breakSpace || afterBreak
		case isBreak:
			t.breaks = true
			t.newline = t.newline || c == '\n'
			t.odd = t.odd || c != '\n'
			t.leading = t.leading || i == 0
			t.trailing = t.trailing || end
			t.spaceBreak = t.spaceBreak || afterSpace
		}
		afterSpace, afterBreak = c == ' ', isBreak
		afterBlank = c == ' ' || c == '\t' || c == 0 || isBreak
		i += w
	}
	return t
}

// width returns the length of the rune at the start of b, which is UTF-8.
func width(b []byte) int {
	if b[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRune(b)
	return n
}

// breakAt reports whether b begins with a line break.
func breakAt(b []byte) bool {
	switch b[0] {
	case '\n', '\r':
		return true
	case 0xc2:
		return b[1] == 0x85
	case 0xe2:
		return b[1] == 0x80 && b[2]&^1 == 0xa8
	}
	return false
}

// printable reports whether the rune at the start of b is printed without an escape. For the
// emitter of yaml/v2 neither tabs nor runes beyond U+FFFF are printable.
func printable(b []byte) bool {
	switch c := b[0]; {
	case c < utf8.RuneSelf:
		return c == '\n' || c >= ' ' && c <= '~'
	case c == 0xc2:
		return b[1] >= 0xa0
	case c == 0xef:
		return !(b[1] == 0xbb && b[2] == 0xbf) && !(b[1] == 0xbf && b[2] >= 0xbe)
	default:
		return c < 0xf0
	}
}

// styleOf returns the style for a text with these traits.
func styleOf(s []byte, t traits) style {
	if t.newline {
		if t.spaceLast || t.spaceBreak || t.special {
			return double
		}
		return literal
	}
	if !isString(s) || t.breakSpace || t.spaceBreak || t.special {
		return double
	}
	if t.indicator || t.leading || t.trailing || t.breaks {
		return single
	}
	return plain
}
