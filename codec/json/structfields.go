package json

import "bytes"

// structFields are the fields of a Go struct in their order.
type structFields []structField

type structField struct {
	name   string
	quoted string // "name":
	append appendFunc
	rule   rule
}

// A rule says when a field is printed. Without a rule it is left out if it is empty.
type rule uint8

const (
	always  rule = 1 + iota // printed even if it is empty
	nonZero                 // left out if it is 0
)

func field(name string, f appendFunc, r rule) structField {
	return structField{name: name, quoted: string(AppendString(nil, name)) + ":", append: f, rule: r}
}

// An appendFunc appends the value at b[i] as the Go type of a field prints it, if the value has the form in which an
// apiserver prints it, and returns the index after it.
type appendFunc func(dst, b []byte, i int) ([]byte, int, result)

type result uint8

const (
	printed result = iota
	empty          // printed, but left out if the field has omitempty
	unusual        // in a form that only the Go type reads
)

// maxFields is the largest number of fields in a struct of metadata.
const maxFields = 15

// find returns the index of the field with this name, or -1. The search begins at from: the next field, if members
// are in the order of the struct.
func (s structFields) find(name []byte, from int) int {
	for n := range s {
		i := from + n
		if i >= len(s) {
			i -= len(s)
		}
		if string(name) == s[i].name {
			return i
		}
	}
	return -1
}

// append prints an object as encoding/json does after decoding it into the struct.
func (s structFields) append(dst, b []byte, at int) ([]byte, int, result) {
	var starts [maxFields]int // of the values; 0 if absent
	m := membersAt(b, at)
	for from := 0; m.next(); {
		i := s.find(m.name, from)
		switch {
		case m.flags != 0, i >= 0 && starts[i] != 0:
			return dst, 0, unusual
		case i >= 0:
			starts[i], from = m.start, i+1
		}
	}
	if m.bad {
		return dst, 0, unusual
	}
	begin := len(dst) + 1
	dst = append(dst, '{')
	for i := range s {
		f, start := &s[i], starts[i]
		if start == 0 {
			if f.rule == always {
				return dst, 0, unusual
			}
			continue
		}
		mark := len(dst)
		out, end, r := f.append(append(appendComma(dst, mark == begin), f.quoted...), b, start)
		switch {
		case r == unusual:
			return dst, 0, unusual
		case r == empty && f.rule != always, f.rule == nonZero && string(b[start:end]) == "0":
			dst = out[:mark]
		default:
			dst = out
		}
	}
	return append(dst, '}'), m.pos + 1, printed
}

func appendText(dst, b []byte, i int) ([]byte, int, result) {
	out, end := appendCanonical(dst, b, i)
	switch {
	case end < 0 || b[i] != '"':
		return dst, 0, unusual
	case len(out) == len(dst)+len(`""`):
		return out, end, empty
	}
	return out, end, printed
}

func appendBool(dst, b []byte, i int) ([]byte, int, result) {
	v := valueAt(b, i)
	if _, ok := v.Bool(); !ok {
		return dst, 0, unusual
	}
	return append(dst, v...), i + len(v), printed
}

func appendInt(dst, b []byte, i int) ([]byte, int, result) {
	v := valueAt(b, i)
	if n, ok := v.Int(); !ok || n == 0 && len(v) > 1 {
		return dst, 0, unusual
	}
	return append(dst, v...), i + len(v), printed
}

// appendTime prints a metav1.Time: UTC, in whole seconds.
func appendTime(dst, b []byte, i int) ([]byte, int, result) {
	v := valueAt(b, i)
	if len(v) < 2 || v[0] != '"' || !IsTimestamp(v[1:len(v)-1]) || string(v) == `"0001-01-01T00:00:00Z"` {
		return dst, 0, unusual
	}
	return append(dst, v...), i + len(v), printed
}

// valueAt returns the value at b[i], or nil if it does not end.
func valueAt(b []byte, i int) Value {
	end := skipValue(b, i)
	if end < 0 {
		return nil
	}
	return b[i:end]
}

// appendFieldsV1 prints the managed fields as they were written, compacted.
func appendFieldsV1(dst, b []byte, i int) ([]byte, int, result) {
	end := canonicalFields(b, i)
	if end < 0 {
		return dst, 0, unusual
	}
	return append(dst, b[i:end]...), end, printed
}

// appendMap prints a map of strings whose keys ascend.
func appendMap(dst, b []byte, i int) ([]byte, int, result) {
	var last []byte
	begin := len(dst) + 1
	dst = append(dst, '{')
	m := membersAt(b, i)
	for m.nextName() {
		key, first := m.key(), len(dst) == begin
		if !first && bytes.Compare(last, key) >= 0 {
			return dst, 0, unusual
		}
		last = key
		dst, _ = appendCanonical(appendComma(dst, first), b, m.nameAt)
		out, end, r := appendText(append(dst, ':'), b, m.start)
		if dst = out; r == unusual || !m.after(end) {
			return dst, 0, unusual
		}
	}
	return closeList(dst, begin, '}', m.pos, m.bad)
}

// each returns a function that prints the elements of an array by f.
func each(f appendFunc) appendFunc {
	return func(dst, b []byte, i int) ([]byte, int, result) {
		begin := len(dst) + 1
		dst = append(dst, '[')
		e := elementsAt(b, i)
		for e.more() {
			out, end, r := f(appendComma(dst, len(dst) == begin), b, e.pos)
			if dst = out; r == unusual || !e.after(end) {
				return dst, 0, unusual
			}
		}
		return closeList(dst, begin, ']', e.pos, e.bad)
	}
}

// closeList ends a map or list whose content begins at begin, and whose closing bracket is at index at of the source.
func closeList(dst []byte, begin int, shut byte, at int, bad bool) ([]byte, int, result) {
	switch {
	case bad:
		return dst, 0, unusual
	case len(dst) == begin:
		return append(dst, shut), at + 1, empty
	}
	return append(dst, shut), at + 1, printed
}
