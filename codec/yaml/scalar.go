package yaml

import (
	"bytes"
	"unicode/utf8"
)

const spaces = "                                                                "

// appendSpaces appends n spaces.
func appendSpaces(dst []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:max(n, 0)]...)
}

// appendIndentation appends the indentation of a line, unless dst is longer than limit.
func appendIndentation(dst []byte, indent, limit int) []byte {
	if len(dst) > limit {
		return dst
	}
	return appendSpaces(dst, indent)
}

// appendSingle appends a text without line breaks in single quotes.
func appendSingle(dst, s []byte) []byte {
	dst = append(dst, '\'')
	for {
		i := bytes.IndexByte(s, '\'')
		if i < 0 {
			return append(append(dst, s...), '\'')
		}
		dst = append(append(dst, s[:i+1]...), '\'')
		s = s[i+1:]
	}
}

// appendDouble appends a text in double quotes.
func appendDouble(dst, s []byte) []byte {
	dst = append(dst, '"')
	bom := beginsWithBOM(s)
	start := 0
	for i := 0; i < len(s); {
		w := width(s[i:])
		if mustEscape(s[i:], bom) {
			dst = append(dst, s[start:i]...)
			r, _ := utf8.DecodeRune(s[i:])
			dst = appendEscape(dst, r)
			start = i + w
		}
		i += w
	}
	return append(append(dst, s[start:]...), '"')
}

// beginsWithBOM reports whether a text begins with a byte order mark. The emitter of yaml/v2 then
// escapes every character of it, by mistake.
func beginsWithBOM(s []byte) bool { return bytes.HasPrefix(s, []byte("\ufeff")) }

// mustEscape reports whether the rune at the start of b is escaped in double quotes.
func mustEscape(b []byte, bom bool) bool {
	c := b[0]
	if c >= ' ' && c <= '~' {
		return c == '"' || c == '\\' || bom
	}
	return bom || c < utf8.RuneSelf || !printable(b) || breakAt(b)
}

// short maps runes to escapes of a single character.
var short = map[rune]byte{
	0: '0', 7: 'a', 8: 'b', 9: 't', 10: 'n', 11: 'v', 12: 'f', 13: 'r', 27: 'e', '"': '"', '\\': '\\', 0x85: 'N', 0xa0: '_',
	0x2028: 'L', 0x2029: 'P',
}

func appendEscape(dst []byte, r rune) []byte {
	dst = append(dst, '\\')
	var n int
	switch r {
	case '\n':
		return append(dst, 'n')
	case '\t':
		return append(dst, 't')
	case '"', '\\':
		return append(dst, byte(r))
	}
	if c, ok := short[r]; ok {
		return append(dst, c)
	}
	switch {
	case r <= 0xff:
		dst, n = append(dst, 'x'), 2
	case r <= 0xffff:
		dst, n = append(dst, 'u'), 4
	default:
		dst, n = append(dst, 'U'), 8
	}
	for n--; n >= 0; n-- {
		dst = append(dst, "0123456789ABCDEF"[r>>(4*n)&15])
	}
	return dst
}

// appendLiteral appends a text as a literal block with indented lines. It reports whether the
// output ends at the start of a line.
func appendLiteral(dst, s []byte, t traits, indent, limit int) ([]byte, bool) {
	dst = append(dst, '|')
	if t.leading {
		dst = append(dst, '2')
	}
	dst = appendChomping(dst, s)
	dst = append(dst, '\n')
	if t.odd {
		return appendOddLines(dst, s, indent, limit), t.trailing
	}
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\n')
		if n < 0 {
			return append(appendIndentation(dst, indent, limit), s...), false
		}
		if n > 0 {
			dst = appendIndentation(dst, indent, limit)
		}
		dst = append(dst, s[:n+1]...)
		s = s[n+1:]
	}
	return dst, true
}

// appendChomping appends the indicator for the line breaks at the end of the text: - if it has
// none, nothing for one, + for more.
func appendChomping(dst, s []byte) []byte {
	n := lastRune(s)
	switch {
	case !breakAt(s[n:]):
		return append(dst, '-')
	case n == 0, breakAt(s[lastRune(s[:n]):]):
		return append(dst, '+')
	}
	return dst
}

// lastRune returns the index of the last rune of s.
func lastRune(s []byte) int {
	_, n := utf8.DecodeLastRune(s)
	return len(s) - n
}

// appendOddLines appends the lines of a literal block with line breaks other than \n.
func appendOddLines(dst, s []byte, indent, limit int) []byte {
	start := true
	for i := 0; i < len(s); {
		w := width(s[i:])
		isBreak := breakAt(s[i:])
		if start && !isBreak {
			dst = appendIndentation(dst, indent, limit)
		}
		dst = append(dst, s[i:i+w]...)
		start = isBreak
		i += w
	}
	return dst
}
