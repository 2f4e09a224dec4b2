package json

import (
	"errors"
	"strconv"
	"strings"
)

// ErrPath is returned when a JSONPath is not a plain chain of names.
var ErrPath = errors.New("not a simple JSONPath")

// ParsePath splits the JSONPath of a CRD's selectable field, such as
// .spec.color or .metadata.labels['a/b'], into the names that [Value.Get] and
// [Value.Field] take. The leading dot may be missing, as it is in field
// selectors. A backslash before a character takes it literally, in quotes
// too: the apiserver's JSONPath reads ['a.b'] as it reads .a.b and needs
// ['a\.b'] for one name.
//
// Anything but names (indices, wildcards, filters, ranges, unions) is
// ErrPath.
func ParsePath(path string) ([]string, error) {
	var names []string
	for rest := path; rest != ""; {
		quoted := strings.HasPrefix(rest, "['")
		step, ok := "", true
		if quoted {
			step, rest, ok = strings.Cut(rest[2:], "']")
		} else if rest[0] == '.' || names == nil {
			step, rest = strings.TrimPrefix(rest, "."), ""
		}
		for ok {
			var name string
			name, step, ok = cutName(step)
			names = append(names, name)
			ok = ok && name != ""
			if step == "" || step[0] != '.' {
				break
			}
			step = step[1:]
		}
		if !ok || quoted && step != "" {
			return nil, atPath(path, len(path)-len(rest)-len(step))
		}
		if !quoted {
			rest = step
		}
	}
	if names == nil {
		return nil, atPath(path, 0)
	}
	return names, nil
}

func atPath(path string, offset int) error {
	return at(ErrPath, strconv.Quote(path), offset)
}

// cutName takes the name off the start of a path.
func cutName(s string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			b.WriteByte(s[i])
		case '.', '[':
			return b.String(), s[i:], true
		case ' ', '\t', '\r', '\n', ',', ']', '$', '@', '{', '}', '*', '\'', '"', '(', ')', '?':
			return "", s[i:], false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", true
}

// Field returns what a field selector compares: the scalar at path as
// apiextensions prints it for a selectable field. A string is its text, a
// number that is an int64 its digits, another number the shortest spelling
// of its float64 (1e+06, 0.5), a bool true or false; null and absent are "".
// ok is false for an object or an array, which no selectable field can be.
func (v Value) Field(path ...string) (text string, ok bool) {
	f := v.Get(path...)
	switch f.Kind() {
	case Invalid, Null:
		return "", true
	case String:
		return f.Text()
	case Bool:
		return string(f), true
	case Number:
		if n, ok := f.Int(); ok {
			return strconv.FormatInt(n, 10), true
		}
		n, ok := f.Float()
		return strconv.FormatFloat(n, 'g', -1, 64), ok
	}
	return "", false
}
