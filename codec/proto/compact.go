package proto

// What may come next in compactJSON.
type expect uint8

const (
	wantValue    expect = 1 << iota
	wantKey             // of an object that has a comma behind its last member
	wantColon           // behind a key
	wantEnd             // the bracket that closes an empty array or object
	wantMore            // comma or closing bracket behind a value; at depth zero, nothing
	wantFirst    = wantKey | wantEnd
	wantElements = wantValue | wantEnd
)

// hexDigits are those that encoding/json escapes with.
const hexDigits = "0123456789abcdef"

// verbatim marks the bytes that compactJSON keeps inside strings without a
// closer look.
var verbatim = func() (t [256]bool) {
	for c := ' '; c < 256; c++ {
		t[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0xe2
	}
	return t
}()

// compactJSON appends the JSON value src as encoding/json prints what a
// MarshalJSON method returned: insignificant space dropped; <, >, & and U+2028,
// U+2029 escaped; everything else as it is, strings that are no UTF-8 included.
// The error is nil only for one well-formed value that nests at most maxDepth
// deep, with nothing behind it.
//
// One loop over a small state machine, because managed fields are a third of
// many an object. What need not change is copied in runs.
func (r *run) compactJSON(dst, src []byte) ([]byte, error) {
	if tidy(src) {
		return append(dst, src...), nil
	}
	if r.opens == nil {
		r.opens = make([]uint64, maxDepth/64+1)
	}
	opens := r.opens // a bit per open container, set for objects
	depth, start, next := 0, 0, wantValue
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case ' ', '\n', '\t', '\r':
			dst = append(dst, src[start:i]...)
			i++
			start = i
		case '"':
			for i++; i < len(src) && verbatim[src[i]]; i++ {
			}
			if i < len(src) && src[i] == '"' {
				i++
			} else {
				var ok bool
				if dst, start, i, ok = escapeRest(dst, src, start, i); !ok {
					return dst, ErrValue
				}
			}
			switch {
			case next&wantKey != 0:
				next = wantColon
			case next&wantValue != 0:
				next = wantMore
			default:
				return dst, ErrValue
			}
		case ':':
			if next != wantColon {
				return dst, ErrValue
			}
			next = wantValue
			i++
		case '{', '[':
			if next&wantValue == 0 {
				return dst, ErrValue
			}
			if depth++; depth > maxDepth {
				return dst, ErrTooDeep
			}
			if c == '{' {
				opens[depth>>6] |= 1 << (depth & 63)
				next = wantFirst
			} else {
				opens[depth>>6] &^= 1 << (depth & 63)
				next = wantElements
			}
			i++
		case '}', ']', ',':
			object := opens[depth>>6]>>(depth&63)&1 != 0
			switch {
			case depth == 0 || c != ',' && object != (c == '}'):
				return dst, ErrValue
			case c != ',' && next&(wantMore|wantEnd) != 0:
				depth--
				next = wantMore
			case c == ',' && next == wantMore && object:
				next = wantKey
			case c == ',' && next == wantMore:
				next = wantValue
			default:
				return dst, ErrValue
			}
			i++
		default:
			n := scalarLen(src[i:])
			if n == 0 || next&wantValue == 0 {
				return dst, ErrValue
			}
			next = wantMore
			i += n
		}
	}
	if depth != 0 || next != wantMore {
		return dst, ErrValue
	}
	return append(dst, src[start:]...), nil
}

// escapeRest goes on inside a string at i, where verbatim bytes have ended. It
// returns the position behind the closing quote; what lies between start and
// there is still to be copied.
func escapeRest(dst, src []byte, start, i int) (_ []byte, from, next int, ok bool) {
	for i < len(src) {
		c := src[i]
		switch {
		case verbatim[c]:
			i++
		case c == '"':
			return dst, start, i + 1, true
		case c == '\\':
			n := escapeLen(src[i:])
			if n == 0 {
				return dst, start, i, false
			}
			i += n
		case c == 0xe2:
			if i+2 < len(src) && src[i+1] == 0x80 && src[i+2]&^1 == 0xa8 {
				dst = append(dst, src[start:i]...)
				dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[src[i+2]&0xf])
				i += 2
				start = i + 1
			}
			i++
		case c < ' ':
			return dst, start, i, false
		default: // <, > or &
			dst = append(dst, src[start:i]...)
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
			i++
			start = i
		}
	}
	return dst, start, i, false
}

// escapeLen is the length of the escape sequence that b begins with; 0, if it
// is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 5
}

// scalarLen is the length of the number, true, false or null that b begins
// with; 0, if it is none of them.
func scalarLen(b []byte) int {
	for _, word := range [...]string{"null", "true", "false"} {
		if len(b) >= len(word) && string(b[:len(word)]) == word {
			return len(word)
		}
	}
	i := 0
	if b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return 0
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// digits counts the decimal digits that b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n]-'0' <= 9 {
		n++
	}
	return n
}
