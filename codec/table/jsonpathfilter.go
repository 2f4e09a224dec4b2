package table

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"sluice/codec/json"
)

// literal is the constant that a filter compares with, or a scalar of an
// object to be compared with one.
type literal struct {
	kind    literalKind
	text    []byte
	integer int64
	float   float64
	boolean bool
}

type literalKind byte

const (
	noLiteral literalKind = iota
	textLiteral
	intLiteral
	floatLiteral
	boolLiteral
)

const filterOperators = "!<>="

// parseFilter reads what stands between "[?(" and ")]".
func parseFilter(s string) (steps []step, rest string, err error) {
	end := filterEnd(s)
	if end < 0 || !strings.HasPrefix(s[end:], ")]") {
		return nil, s, ErrPath
	}
	f, ok := readFilter(s[:end])
	if !ok {
		return nil, s, ErrPath
	}
	return []step{{filter: &f}}, s[end+2:], nil
}

// filterEnd returns the index of the closing parenthesis, -1 if there is
// none. One inside the quotes does not close.
func filterEnd(s string) int {
	var quote byte
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n' || c == '\\':
			return -1
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ')':
			return i
		}
	}
	return -1
}

func readFilter(s string) (f filter, ok bool) {
	at := strings.IndexAny(s, filterOperators)
	if at < 0 {
		f.path, ok = filterPath(s)
		return f, ok
	}
	after := strings.TrimLeft(s[at:], filterOperators)
	f.op = s[at : len(s)-len(after)]
	switch f.op {
	case "==", "!=", "<", "<=", ">", ">=":
	default:
		return f, false
	}
	if f.path, ok = filterPath(s[:at]); !ok {
		return f, false
	}
	f.right, ok = parseLiteral(strings.Trim(after, " "))
	return f, ok
}

// filterPath reads "@.a.b".
func filterPath(s string) (names []string, ok bool) {
	s, ok = strings.CutPrefix(strings.Trim(s, " "), "@")
	if !ok || s == "" {
		return nil, ok
	}
	steps, err := parsePath(s)
	if err != nil || s[0] != '.' {
		return nil, false
	}
	return memberNames(steps)
}

// memberNames returns the names if all steps are members.
func memberNames(steps []step) ([]string, bool) {
	names := make([]string, len(steps))
	for i, st := range steps {
		if st.slice != nil || st.filter != nil {
			return nil, false
		}
		names[i] = st.member
	}
	return names, true
}

func parseLiteral(s string) (l literal, ok bool) {
	switch n := len(s); {
	case s == "":
		return l, false
	case s == "true" || s == "false":
		return literal{kind: boolLiteral, boolean: s == "true"}, true
	case s[0] == '"' || s[0] == '\'':
		if n < 2 || s[n-1] != s[0] || strings.IndexByte(s[1:n-1], s[0]) >= 0 {
			return l, false
		}
		return literal{kind: textLiteral, text: []byte(s[1 : n-1])}, true
	}
	if strings.Trim(s[1:], ".0123456789") != "" || !strings.ContainsRune("+-0123456789", rune(s[0])) {
		return l, false
	}
	if i, err := strconv.Atoi(s); err == nil {
		return literal{kind: intLiteral, integer: int64(i)}, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return literal{kind: floatLiteral, float: f}, err == nil
}

// scalarOf returns v to be compared; of no kind if it is null, an object or
// an array.
func scalarOf(v json.Value) (l literal) {
	switch v.Kind() {
	case json.String:
		l.kind = textLiteral
		l.text = bytesOf(v)
	case json.Bool:
		l.kind = boolLiteral
		l.boolean, _ = v.Bool()
	case json.Number:
		var ok bool
		if l.integer, ok = v.Int(); ok {
			l.kind = intLiteral
		} else if l.float, ok = v.Float(); ok {
			l.kind = floatLiteral
		}
	}
	return l
}

// holds reports whether left op right; ok is false if the two cannot be
// compared like that.
func (left literal) holds(op string, right literal) (holds, ok bool) {
	if left.kind == noLiteral || left.kind != right.kind {
		return false, false
	}
	if left.kind == boolLiteral {
		equal := left.boolean == right.boolean
		return equal == (op == "=="), op == "==" || op == "!="
	}
	c := cmp.Compare(left.integer, right.integer)
	switch left.kind {
	case textLiteral:
		c = bytes.Compare(left.text, right.text)
	case floatLiteral:
		c = cmp.Compare(left.float, right.float)
	}
	switch op {
	case "==":
		return c == 0, true
	case "!=":
		return c != 0, true
	case "<":
		return c < 0, true
	case "<=":
		return c <= 0, true
	case ">":
		return c > 0, true
	}
	return c >= 0, true
}
