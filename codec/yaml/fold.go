package yaml

import (
	"bytes"
	"unicode/utf8"
)

// maxWidth is the column after which the emitter folds a line at the next space.
const maxWidth = 80

// folder prints one scalar and folds its lines. It counts columns in runes, like the emitter of
// yaml/v2.
type folder struct {
	dst    []byte
	s      []byte
	column int // of the output
	indent int
	limit  int  // of dst: see printer
	spaced bool // the last rune was a space, or folded
	broken bool // the last rune was a line break
}

// appendFolded appends a text at the given column in a style other than literal. It folds lines
// that are too wide at single spaces, in double quotes at any space, and indents the lines that
// follow.
func appendFolded(dst, s []byte, st style, column, indent, limit int) []byte {
	f := folder{dst: dst, s: s, column: column, indent: indent, limit: limit}
	switch st {
	case plain:
		f.plain()
	case single:
		f.single()
	case double:
		f.double()
	}
	return f.dst
}

// put appends bytes of n columns.
func (f *folder) put(n int, b ...byte) {
	f.dst = append(f.dst, b...)
	f.column += n
}

// fold begins the next line.
func (f *folder) fold() {
	f.dst = appendIndentation(append(f.dst, '\n'), f.indent, f.limit)
	f.column = f.indent
}

// spaceAt reports whether there is a space at s[i].
func (f *folder) spaceAt(i int) bool { return i < len(f.s) && f.s[i] == ' ' }

func (f *folder) plain() {
	for i := 0; i < len(f.s); {
		if f.s[i] != ' ' {
			i = f.word(i)
			continue
		}
		if !f.spaced && f.column > maxWidth && !f.spaceAt(i+1) {
			f.fold()
		} else {
			f.put(1, ' ')
		}
		f.spaced = true
		i++
	}
}

// word appends s from i up to the next space and returns the index of that space.
func (f *folder) word(i int) int {
	n := bytes.IndexByte(f.s[i:], ' ')
	if n < 0 {
		n = len(f.s) - i
	}
	w := f.s[i : i+n]
	f.dst = append(f.dst, w...)
	f.column += utf8.RuneCount(w)
	f.spaced = false
	return i + n
}

func (f *folder) single() {
	f.put(1, '\'')
	for i := 0; i < len(f.s); {
		c, w := f.s[i], width(f.s[i:])
		isBreak := breakAt(f.s[i:])
		switch {
		case c == ' ':
			inner := i > 0 && i < len(f.s)-1
			if !f.spaced && f.column > maxWidth && inner && !f.spaceAt(i+1) {
				f.fold()
			} else {
				f.put(1, ' ')
			}
		case isBreak: // never \n
			f.put(0, f.s[i:i+w]...)
			f.column = 0
		default:
			if f.broken {
				f.dst = appendIndentation(f.dst, f.indent-f.column, f.limit)
				f.column = max(f.column, f.indent)
			}
			if c == '\'' {
				f.put(1, '\'')
			}
			f.put(1, f.s[i:i+w]...)
		}
		// The emitter does not count a break as the end of a run of spaces, nor a space as the end
		// of a run of breaks.
		if !isBreak {
			f.spaced = c == ' '
		}
		if c != ' ' {
			f.broken = isBreak
		}
		i += w
	}
	f.put(1, '\'')
}

func (f *folder) double() {
	f.put(1, '"')
	bom := beginsWithBOM(f.s)
	for i := 0; i < len(f.s); {
		if n := safeRun(f.s[i:]); n > 0 && !bom {
			f.put(n, f.s[i:i+n]...)
			f.spaced = false
			i += n
			continue
		}
		c, w := f.s[i], width(f.s[i:])
		switch {
		case mustEscape(f.s[i:], bom):
			r, _ := utf8.DecodeRune(f.s[i:])
			mark := len(f.dst)
			f.dst = appendEscape(f.dst, r)
			f.column += len(f.dst) - mark
			f.spaced = false
		case c == ' ':
			if !f.spaced && f.column > maxWidth && i > 0 && i < len(f.s)-1 {
				f.fold()
				if f.spaceAt(i + 1) {
					f.put(1, '\\')
				}
			} else {
				f.put(1, ' ')
			}
			f.spaced = true
		default:
			f.put(1, f.s[i:i+w]...)
			f.spaced = false
		}
		i += w
	}
	f.put(1, '"')
}

// safeRun returns the number of bytes at the start of s that need no escape in double quotes and
// are not spaces. Each takes one column.
func safeRun(s []byte) int {
	for i, c := range s {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}
