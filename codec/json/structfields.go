package json

import "fmt"

// structFields are the fields of a Go struct in their order. appendStruct prints an object as
// encoding/json does after decoding it into that struct.
type structFields []structField

type structField struct {
	name   string
	quoted string // "name":
	always bool   // no omitempty
	append appendFunc
}

// appendFunc prints the value at b[i] as the Go type of a field does and returns the index after
// it. printed is false if omitempty leaves the field out; the caller then discards what was
// appended.
type appendFunc func(dst, b []byte, i int, name string) (out []byte, end int, printed bool, err error)

// maxFields is the largest number of fields in a struct of metadata.
const maxFields = 15

func field(name string, f appendFunc) structField {
	return structField{name: name, quoted: string(AppendString(nil, name)) + ":", append: f}
}

func always(name string, f appendFunc) structField {
	sf := field(name, f)
	sf.always = true
	return sf
}

// find returns the index of the field with the name of the current member, or -1. The search begins
// at from: the next field, if members are in the order of the struct.
func (s structFields) find(m *members, from int) int {
	for n := range s {
		i := from + n
		if i >= len(s) {
			i -= len(s)
		}
		if m.is(s[i].name) {
			return i
		}
	}
	return -1
}

// printer prints one struct.
type printer struct {
	s     structFields
	dst   []byte
	next  int  // index of the first field that is neither printed nor omitted yet
	first bool // no field is printed yet
}

// upTo prints the empty fields before field i that do not have omitempty.
func (p *printer) upTo(i int) {
	for ; p.next < i; p.next++ {
		if f := &p.s[p.next]; f.always {
			p.dst = append(append(appendComma(p.dst, p.first), f.quoted...), `""`...)
			p.first = false
		}
	}
}

// field prints field i from the value at b[at] and returns the index after the value.
func (p *printer) field(i int, b []byte, at int) (int, error) {
	if isNull(b, at) {
		return at + 4, nil // as if absent
	}
	p.upTo(i)
	f := &p.s[i]
	mark := len(p.dst)
	dst := append(appendComma(p.dst, p.first), f.quoted...)
	dst, end, printed, err := f.append(dst, b, at, f.name)
	if err != nil {
		return 0, err
	}
	p.next = i + 1
	if !printed && !f.always {
		dst = dst[:mark]
	} else {
		p.first = false
	}
	p.dst = dst
	return end, nil
}

func isNull(b []byte, i int) bool {
	return i+4 <= len(b) && string(b[i:i+4]) == "null"
}

// appendStruct appends the object at b[i] in the form of its Go struct and returns the index after
// it. Null gives the zero struct. An object whose members are not in the order of the struct is
// read twice.
func appendStruct(dst, b []byte, i int, s structFields, name string) ([]byte, int, error) {
	p := printer{s: s, dst: append(dst, '{'), first: true}
	if isNull(b, i) {
		p.upTo(len(s))
		return append(p.dst, '}'), i + 4, nil
	}
	m := membersAt(b, i)
	if m.bad {
		return dst, 0, wrongType(name, b, i)
	}
	for m.nextName() {
		end, k := 0, s.find(&m, p.next)
		switch {
		case k < 0:
			end = skipValue(b, m.start)
		case k < p.next:
			return appendReordered(dst, b, i, s, name)
		default:
			var err error
			if end, err = p.field(k, b, m.start); err != nil {
				return dst, 0, fmt.Errorf("%s.%w", name, err)
			}
		}
		if end < 0 || !m.after(end) {
			return dst, 0, At(ErrSyntax, name, m.start)
		}
	}
	if m.bad {
		return dst, 0, At(ErrSyntax, name, m.pos)
	}
	p.upTo(len(s))
	return append(p.dst, '}'), m.pos + 1, nil
}

// appendReordered is appendStruct for members in any order. Of duplicate names the last counts.
func appendReordered(dst, b []byte, i int, s structFields, name string) ([]byte, int, error) {
	var starts [maxFields]int
	m := membersAt(b, i)
	for from := 0; m.next(); {
		if k := s.find(&m, from); k >= 0 {
			starts[k] = m.start
			from = k + 1
		}
	}
	if m.bad {
		return dst, 0, At(ErrSyntax, name, m.pos)
	}
	p := printer{s: s, dst: append(dst, '{'), first: true}
	for k := range s {
		if starts[k] == 0 {
			continue
		}
		if _, err := p.field(k, b, starts[k]); err != nil {
			return dst, 0, fmt.Errorf("%s.%w", name, err)
		}
	}
	p.upTo(len(s))
	return append(p.dst, '}'), m.pos + 1, nil
}

// wrongType returns the error for a field whose value is of the wrong kind.
func wrongType(name string, b []byte, i int) error {
	kind := Invalid
	if i < len(b) {
		kind = Value(b[i:]).Kind()
	}
	return At(ErrFieldType, name+" is "+kind.String(), i)
}
