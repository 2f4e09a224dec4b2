package yaml

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	yamlv2 "go.yaml.in/yaml/v2"
)

// The rules in this file are those of yaml/v2: of its emitter (emitterc.go), of which texts it takes for other types
// (resolve.go), and of the styles it asks the emitter for (encode.go).

// maxWidth is the column after which the emitter folds a line at the next space.
const maxWidth = 80

const byteOrderMark = "\ufeff"

func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isPrintable reports whether the emitter prints a character as it is. A tab is not among them.
func isPrintable(r rune) bool {
	return r == '\n' || r >= ' ' && r <= '~' || r >= 0xa0 && r <= 0xfffd && r != 0xfeff
}

// rareStyle returns the style of any text. The text of a name on the line of its value is never literal, as it has one line.
func rareStyle(s []byte) style {
	isPlain := !bytes.HasPrefix(s, []byte("---")) && !bytes.HasPrefix(s, []byte("..."))
	isSingle, isLiteral, escapes := true, true, false
	var previous rune = ' '
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRune(s[i:])
		first, last := i == 0, i+w == len(s)
		blankNext := last || s[i+w] == ' ' || s[i+w] == '\t'
		lineBreak := isBreak(r)
		switch {
		case first && (r == '\'' || r < utf8.RuneSelf && class[r]&indicator != 0),
			r == ':' && blankNext,
			first && (r == '-' || r == '?') && blankNext,
			r == '#' && (previous == ' ' || isBreak(previous)), // a tab or a zero is escaped
			r == ' ' && (first || last),
			lineBreak:
			isPlain = false
		}
		isSingle = isSingle && (first || r != ' ' || !isBreak(previous))
		isLiteral = isLiteral && (r != ' ' || !last)
		escapes = escapes || !isPrintable(r) || lineBreak && !first && previous == ' '
		previous = r
	}
	switch lines := bytes.IndexByte(s, '\n') >= 0; {
	case escapes, lines && !isLiteral, !lines && isOtherType(unsafe.String(&s[0], len(s))): // which does not keep the string
		return double
	case lines:
		return literal
	case isPlain:
		return plain
	case isSingle:
		return single
	}
	return double
}

// isOtherType reports whether YAML reads a plain text as null, a bool, a number or a time, or an older version of YAML does.
func isOtherType(s string) bool {
	switch s {
	case "", "~", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return true
	}
	switch c := s[0]; {
	case c == '.':
		_, err := strconv.ParseFloat(s, 64)
		return err == nil
	case c == '+', c == '-', class[c]&digit != 0:
		return isTime(s) || isBase60(s) || isNumber(strings.ReplaceAll(s, "_", ""))
	}
	return isWord([]byte(s))
}

const decimals = "0123456789"

func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }

// isTime is isOtherType for times.
func isTime(s string) bool {
	if len(s) < len("2006-1-2") || s[4] != '-' || !consistsOf(s[:4], decimals) {
		return false
	}
	layout := "2006-1-2"
	switch {
	case strings.Contains(s, "T"):
		layout = "2006-1-2T15:4:5.999999999Z07:00"
	case strings.Contains(s, "t"):
		layout = "2006-1-2t15:4:5.999999999Z07:00"
	case strings.Contains(s, ":"):
		layout = "2006-1-2 15:4:5.999999999"
	}
	_, err := time.Parse(layout, s)
	return err == nil
}

// isBase60 is isOtherType for the numbers of YAML 1.1 with minutes and seconds, such as 1:30:00.5.
func isBase60(s string) bool {
	whole, rest, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	if whole != "" && (whole[0] == '+' || whole[0] == '-') {
		whole = whole[1:]
	}
	rest, fraction, _ := strings.Cut(rest, ".")
	if whole == "" || whole[0] == '_' || !consistsOf(whole, decimals+"_") || !consistsOf(fraction, decimals+"_") {
		return false
	}
	for part := range strings.SplitSeq(rest, ":") {
		if part == "" || len(part) > 2 || !consistsOf(part, decimals) || len(part) == 2 && part[0] > '5' {
			return false
		}
	}
	return true
}

// isNumber is isOtherType for numbers, without their underscores.
func isNumber(s string) bool {
	if digits, ok := strings.CutPrefix(s, "0b"); ok && isInt(digits, 2) {
		return true
	}
	if digits, ok := strings.CutPrefix(s, "-0b"); ok && isInt("-"+digits, 2) {
		return true
	}
	if isInt(s, 0) {
		return true
	}
	if !consistsOf(s, decimals+"+-.eE") { // hexadecimal floats and infinity are not of YAML
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// isInt reports whether a text is a number of 64 bits, with or without a sign.
func isInt(s string, base int) bool {
	var err error
	if s != "" && (s[0] == '+' || s[0] == '-') {
		_, err = strconv.ParseInt(s, base, 64)
	} else {
		_, err = strconv.ParseUint(s, base, 64)
	}
	return err == nil
}

// rare prints any text, whose further lines have this indentation. If that is 0, the text is not folded.
func (p *printer) rare(s []byte, indent int) {
	switch st := rareStyle(s); st {
	case double:
		p.double(s, indent)
	case single:
		p.dst = append(p.dst, '\'')
		p.lines(s, st, indent)
		p.dst = append(p.dst, '\'')
	case literal:
		p.dst = append(p.dst, '|')
		if first, _ := utf8.DecodeRune(s); first == ' ' || isBreak(first) {
			p.dst = append(p.dst, '2') // the indentation indicator: parsers cannot detect the indentation of such a text
		}
		last, w := utf8.DecodeLastRune(s)
		if before, _ := utf8.DecodeLastRune(s[:len(s)-w]); !isBreak(last) {
			p.dst = append(p.dst, '-')
		} else if len(s) == w || isBreak(before) {
			p.dst = append(p.dst, '+')
		}
		p.dst = append(p.dst, '\n')
		p.lines(s, st, indent)
		if isBreak(last) {
			p.fresh, p.bol = true, len(p.dst)
		}
	default:
		p.lines(s, st, indent)
	}
}

// lines prints the characters of a text that has no escapes, and folds it unless it is literal.
func (p *printer) lines(s []byte, st style, indent int) {
	column := utf8.RuneCount(p.dst[p.bol:])
	begin := st == literal // what follows begins a line
	var previous rune
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRune(s[i:])
		if isBreak(r) {
			begin = true
		} else if begin {
			p.pad(indent)
			column, begin = indent, false
		}
		if r == ' ' && previous != ' ' && st != literal && indent > 0 && column > maxWidth && i > 0 && i < len(s)-1 && s[i+1] != ' ' {
			p.dst = append(p.dst, '\n')
			p.pad(indent)
			column, previous = indent, r
			continue
		}
		if r == '\'' && st == single {
			p.dst = append(p.dst, '\'')
			column++
		}
		p.dst = append(p.dst, s[i:i+w]...)
		column, previous = column+1, r
	}
}

// double prints a text in double quotes.
func (p *printer) double(s []byte, indent int) {
	p.dst = append(p.dst, '"')
	column := utf8.RuneCount(p.dst[p.bol:])
	all := bytes.HasPrefix(s, []byte(byteOrderMark)) // the emitter looks for the mark at the start, whatever the character
	var previous rune
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRune(s[i:])
		switch {
		case all, !isPrintable(r), isBreak(r), r == '"', r == '\\':
			before := len(p.dst)
			p.escape(r)
			column, previous = column+len(p.dst)-before, 0
			continue
		case r == ' ' && previous != ' ' && indent > 0 && column > maxWidth && i > 0 && i < len(s)-1:
			p.dst = append(p.dst, '\n')
			p.pad(indent)
			if column = indent; s[i+1] == ' ' {
				p.dst = append(p.dst, '\\')
				column++
			}
		default:
			p.dst = append(p.dst, s[i:i+w]...)
			column++
		}
		previous = r
	}
	p.dst = append(p.dst, '"')
}

// escape prints the escape of a character.
func (p *printer) escape(r rune) {
	const named, names = "\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029", "0abtnvfre\"\\N_LP"
	if i := strings.IndexRune(named, r); i >= 0 {
		p.dst = append(p.dst, '\\', names[utf8.RuneCountInString(named[:i])])
		return
	}
	letter, digits := byte('x'), 2
	switch {
	case r > 0xffff:
		letter, digits = 'U', 8
	case r > 0xff:
		letter, digits = 'u', 4
	}
	p.dst = append(p.dst, '\\', letter)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		p.dst = append(p.dst, "0123456789ABCDEF"[r>>shift&0xf])
	}
}

// pad prints the indentation of a line, unless the result is an error.
func (o *output) pad(indent int) {
	if len(o.dst) <= o.limit {
		o.dst = appendSpaces(o.dst, indent)
	}
}

var nextLine = []byte("\u0085")

// parsing is how many bytes of output cost as much as reading a text with the parser of yaml/v2.
const parsing = 2 << 10

// folded returns a string of the source with a U+0085 that is not escaped. The apiserver reads the JSON with its YAML parser,
// for which that is a line break.
func (p *printer) folded(raw, text []byte) []byte {
	var folded string
	if p.limit -= parsing; len(p.dst) > p.limit || yamlv2.Unmarshal(raw, &folded) != nil {
		return text // which the apiserver fails to print
	}
	return []byte(folded)
}
