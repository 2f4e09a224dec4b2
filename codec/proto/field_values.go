package proto

import (
	"strconv"
	"strings"
	"unsafe"
)

// Field returns the text that a field selector compares for the value at a path of JSON names in a raw object: the
// text of a string, which aliases raw, the digits of a number, true or false, and "" for an absent value. A name may
// end in [0], for the first element of a list.
//
// Errors: ErrTruncated, ErrVarint, ErrTag, ErrWireType.
func (s *Schema) Field(raw []byte, path ...string) (string, error) {
	p, last := s.plan, len(path)-1
	for i, name := range path {
		pf := p.fieldByName(strings.TrimSuffix(name, "[0]"))
		if pf == nil {
			return "", nil
		}
		f, err := find(raw, pf)
		switch {
		case err != nil:
			return "", s.plan.error(err)
		case f.num == 0:
			return "", nil
		case i == last:
			return f.text(pf.op, raw), nil
		case pf.sub == nil:
			return "", nil
		}
		raw, p = raw[f.start:f.end], pf.sub
	}
	return "", nil
}

// find returns the last occurrence of a field in a message, of a list the first; the zero field if there is none.
func find(b []byte, pf *planField) (found field, err error) {
	leaf := pf.op
	if leaf == opRepeated {
		leaf = pf.elem
	}
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return field{}, err
		case f.num == pf.num && f.typ != int(leaf.wireType()):
			return field{}, ErrWireType
		case f.num == pf.num && pf.op == opRepeated:
			return f, nil
		case f.num == pf.num:
			found = f
		}
		i = f.end
	}
	return found, nil
}

// text returns the text of a field of b.
func (f field) text(o op, b []byte) string {
	switch o {
	case opBool:
		return strconv.FormatBool(f.value != 0)
	case opInt32:
		return strconv.Itoa(int(int32(f.value)))
	}
	return unsafe.String(unsafe.SliceData(b[f.start:]), f.end-f.start)
}

// fieldByName returns the field with a JSON name, inlined fields excluded, or nil.
func (p *plan) fieldByName(name string) *planField {
	for i := range p.fields {
		if key := p.fields[i].out[asJSON].key; len(key) == len(name)+4 && key[2:len(key)-2] == name {
			return &p.fields[i]
		}
	}
	return nil
}
