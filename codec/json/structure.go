package json

import "fmt"

// structure describes a Go struct by its fields in their order, for printing
// an object as encoding/json would after decoding it into that struct.
type structure []structField

// structField is one field of a structure.
type structField struct {
	name   string
	quoted string // "name":
	always bool   // printed even when empty
	form   form
}

// form prints the value at b[i] as the Go type of a field does and returns
// the index after it. printed is false when omitempty would leave the field
// out; what was appended then is taken back.
type form func(dst, b []byte, i int, name string) (out []byte, end int, printed bool, err error)

// maxFields is the length of the longest structure.
const maxFields = 15

func field(name string, f form) structField {
	return structField{name: name, quoted: string(AppendString(nil, name)) + ":", form: f}
}

func always(name string, f form) structField {
	sf := field(name, f)
	sf.always = true
	return sf
}

// find returns the index of the field with the current member's name, or -1.
// It begins at the field after the last one found, which is right for every
// member when they come in the struct's order.
func (s structure) find(m *members, from int) int {
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
	s     structure
	dst   []byte
	next  int // the first field not yet printed or left out
	first bool
}

// upTo prints the empty fields before field i that are always printed.
func (p *printer) upTo(i int) {
	for ; p.next < i; p.next++ {
		if f := &p.s[p.next]; f.always {
			p.dst = append(append(appendComma(p.dst, p.first), f.quoted...), `""`...)
			p.first = false
		}
	}
}

// field prints field i from the value at b[at] and returns the index after it.
func (p *printer) field(i int, b []byte, at int) (int, error) {
	if isNull(b, at) {
		return at + 4, nil // as if absent
	}
	p.upTo(i)
	f := &p.s[i]
	mark := len(p.dst)
	dst := append(appendComma(p.dst, p.first), f.quoted...)
	dst, end, printed, err := f.form(dst, b, at, f.name)
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

// appendStruct appends the object at b[i] as its Go struct prints it and
// returns the index after it. Null prints as the zero struct. Objects whose
// members stand in the struct's order are read once; others twice.
func appendStruct(dst, b []byte, i int, s structure, name string) ([]byte, int, error) {
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
			return dst, 0, at(ErrSyntax, name, m.start)
		}
	}
	if m.bad {
		return dst, 0, at(ErrSyntax, name, m.pos)
	}
	p.upTo(len(s))
	return append(p.dst, '}'), m.pos + 1, nil
}

// appendReordered is appendStruct for members in any order: it finds them
// first. Of two with one name the last counts.
func appendReordered(dst, b []byte, i int, s structure, name string) ([]byte, int, error) {
	var starts [maxFields]int
	m := membersAt(b, i)
	for from := 0; m.next(); {
		if k := s.find(&m, from); k >= 0 {
			starts[k] = m.start
			from = k + 1
		}
	}
	if m.bad {
		return dst, 0, at(ErrSyntax, name, m.pos)
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

// wrongType makes the error for a field that holds what it must not.
func wrongType(name string, b []byte, i int) error {
	kind := Invalid
	if i < len(b) {
		kind = Value(b[i:]).Kind()
	}
	return at(ErrFieldType, name+" is "+kind.String(), i)
}
