package json

import "strconv"

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
