package yaml

import (
	"bytes"
	"unicode/utf8"
)

// maxWidth is the column beyond which a line is folded at the next space.
const maxWidth = 80

// folder writes one scalar that may be folded, as the emitter does: counting
// the columns, in runes.
type folder struct {
	dst    []byte
	s      []byte
	column int // of the output
	indent int
	spaced bool // what was written last was a space, or a fold in its place
	broken bool // what was written last was a line break
}

// appendFolded appends a text in the given style, which is not literal, at
// the given column. Lines that grow too wide are folded at single spaces, and
// in double quotes at any; the rest is indented.
func appendFolded(dst, s []byte, st style, column, indent int) []byte {
	f := folder{dst: dst, s: s, column: column, indent: indent}
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

// put appends bytes that are n columns wide.
func (f *folder) put(n int, b ...byte) {
	f.dst = append(f.dst, b...)
	f.column += n
}

// fold goes to the next line.
func (f *folder) fold() {
	f.dst = appendSpaces(append(f.dst, '\n'), f.indent)
	f.column = f.indent
}

// spaceAt tells whether there is a space at s[i].
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

// word appends s from i up to the next space and returns where that is.
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
				f.dst = appendSpaces(f.dst, f.indent-f.column)
				f.column = max(f.column, f.indent)
			}
			if c == '\'' {
				f.put(1, '\'')
			}
			f.put(1, f.s[i:i+w]...)
		}
		// A break does not end a run of spaces, nor a space a run of breaks.
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

// safeRun counts the bytes at the start of s that double quotes show as they
// are, one column each, and that are no spaces.
func safeRun(s []byte) int {
	for i, c := range s {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}
