package json

import (
	"errors"
	"strconv"
	"strings"
)

// ErrPath is returned when a JSONPath is more than a chain of member names.
var ErrPath = errors.New("not a simple JSONPath")

// ParsePath splits the JSONPath of a selectable field of a CRD, such as .spec.color or
// .metadata.labels['a/b'], into the names that [Value.Get] and [Value.Field] take. The leading dot
// may be missing, as in field selectors. A backslash quotes the next character, inside quotes too:
// the JSONPath parser of the apiserver reads ['a.b'] as .a.b and needs ['a\.b'] for a single name.
//
// The error is ErrPath for everything but names: indices, wildcards, filters, ranges and unions.
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

// cutName splits the first name off a path.
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

// Field returns the text that a field selector compares for the scalar at path, as apiextensions
// prints selectable fields: the text of a string, the digits of a number that fits int64, the
// shortest spelling of any other float64 (1e+06, 0.5), true or false, and "" for null and absent
// fields. ok is false for objects and arrays, which cannot be selectable fields.
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
