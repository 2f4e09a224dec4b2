package proto

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/internal/scratch"
	"sluice/codec/projection"
)

// A FieldError is returned for a projection with a path that the kind does not have.
type FieldError struct{ Type, Field, Reason string }

// Error returns the text, such as "v1.PodSpec.nodeNam: no such field".
func (e *FieldError) Error() string { return fmt.Sprintf("%s.%s: %s", e.Type, e.Field, e.Reason) }

// Project returns the schema of the same kind with only the fields that t leaves: its output is that of s without the
// others. Error: FieldError.
func (s *Schema) Project(t *projection.Tree) (*Schema, error) {
	root := *t.Root
	root.Fields = maps.Clone(root.Fields)
	delete(root.Fields, "apiVersion") // not in the plan, and always kept
	delete(root.Fields, "kind")
	p, err := projector(t.Keeps).message(s.plan, &root)
	if err != nil {
		return nil, err
	}
	out := *s
	out.plan = p
	return &out, nil
}

// projector is true for a projection that keeps the fields that it names, and false for one that leaves them out.
type projector bool

// message returns the plan of a message for the fields that n names.
func (keeps projector) message(p *plan, n *projection.Node) (*plan, error) {
	if n.Each != nil {
		return nil, &FieldError{p.name, "[*]", "it is no list or map"}
	}
	out, found, err := keeps.fields(p, n)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		if !found[name] {
			return nil, &FieldError{p.name, name, "no such field"}
		}
	}
	return out, nil
}

// fields returns the plan of a message for those fields named by n that it has, and their names.
func (keeps projector) fields(p *plan, n *projection.Node) (*plan, map[string]bool, error) {
	out, found := *p, map[string]bool{}
	out.fields = slices.Clone(p.fields)
	for i := range out.fields {
		f := &out.fields[i]
		named := false
		if f.op == opInline {
			sub, names, err := keeps.fields(f.sub, n)
			if err != nil {
				return nil, nil, err
			}
			if named = len(names) > 0; named {
				f.sub, f.partial = sub, true
				maps.Copy(found, names)
			}
		} else if name := f.name(); n.Fields[name] != nil {
			child := n.Fields[name]
			found[name], named = true, true
			if !child.Whole {
				if err := keeps.value(f, child, p.name, name); err != nil {
					return nil, nil, err
				}
			} else if !keeps {
				out.drop(uint8(i))
			}
		}
		switch {
		case !named && bool(keeps):
			out.drop(uint8(i))
		case f.partial && !out.dropped.has(uint8(i)):
			if err := out.setAbsent(uint8(i), keeps); err != nil {
				return nil, nil, err
			}
		}
	}
	return &out, found, nil
}

// name returns the JSON name; it is empty for inlined fields and those that are not printed.
func (f *planField) name() string {
	key := f.out[asJSON].key
	if key == "" {
		return ""
	}
	return key[2 : len(key)-2]
}

// drop leaves out field i.
func (p *plan) drop(i uint8) {
	p.dropped.add(i)
	p.printed &^= 1 << (i & 63)
	p.printedWhenAbsent &^= 1 << (i & 63)
}

// setAbsent projects the output of field i, which the projection enters, for an object without it: null, which keep
// leaves out, or a message that is empty.
func (p *plan) setAbsent(i uint8, keeps projector) error {
	f := &p.fields[i]
	switch {
	case !p.printedWhenAbsent.has(i):
	case f.op == opInline:
		p.printedWhenAbsent &^= 1 << (i & 63) // gogo protobuf always writes such a message
	case f.op == opMessage && !strings.HasSuffix(f.out[asJSON].absent.text, ":null"):
		for e := range f.out {
			zero, err := (&Schema{plan: f.sub}).append(nil, nil, notation(e), literal{})
			if err != nil {
				return err
			}
			f.out[e].absent.text = f.out[e].key + string(zero)
		}
	case bool(keeps):
		p.printedWhenAbsent &^= 1 << (i & 63)
	}
	return nil
}

// value projects the values of a field that n enters.
func (keeps projector) value(f *planField, n *projection.Node, owner, name string) (err error) {
	refuse := func(reason string) error { return &FieldError{owner, name, reason} }
	f.partial = true
	switch {
	case f.op == opMessage:
		f.sub, err = keeps.message(f.sub, n)
	case (f.op == opRepeated || f.op == opMap) && n.Each != nil:
		if f.elem != opMessage {
			return refuse("its values have no fields")
		}
		f.sub, err = keeps.message(f.sub, n.Each)
	case f.op == opRepeated:
		return refuse("a list: write " + name + "[*]")
	case f.op == opMap:
		f.keys = map[string]bool{}
		for key, value := range n.Fields {
			if !value.Whole {
				return refuse("paths into one value of a map are not supported")
			}
			f.keys[key] = true
		}
		f.keepsKeys = bool(keeps)
	default:
		return refuse("it has no fields")
	}
	return err
}

// hasKey reports whether an entry of a map is kept.
func (f *planField) hasKey(key []byte) bool {
	return f.keys == nil || f.keys[string(key)] == f.keepsKeys
}

// AppendProtobuf appends a raw object without the fields that [Schema.Project] left out, and with the bytes of every
// other one unchanged. It returns the errors of Check for the fields that it reads.
func (s *Schema) AppendProtobuf(dst, raw []byte) ([]byte, error) {
	base := len(dst)
	dst, err := s.plan.appendKept(dst, raw)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

// appendKept appends the fields of a message that the plan has not dropped.
func (p *plan) appendKept(dst, b []byte) ([]byte, error) {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return dst, p.error(err)
		}
		if f.num >= len(p.wire) || !p.wire[f.num].known {
			return dst, p.fieldError(ErrUnknownField, f.num)
		}
		w := &p.wire[f.num]
		pf := &p.fields[w.field]
		switch {
		case p.dropped.has(w.field):
		case !pf.partial:
			dst = append(dst, b[i:f.end]...)
		case f.typ != wireBytes:
			return dst, p.fieldError(ErrWireType, f.num)
		case pf.op == opMap:
			if dst, err = p.appendKeptEntry(dst, pf, b[i:f.end], b[f.start:f.end]); err != nil {
				return dst, err
			}
		default:
			if dst, err = pf.sub.appendKeptMessage(dst, protowire.Number(f.num), b[f.start:f.end]); err != nil {
				return dst, err
			}
		}
		i = f.end
	}
	return dst, nil
}

// appendKeptMessage appends b as field num without the fields that the plan has dropped.
func (p *plan) appendKeptMessage(dst []byte, num protowire.Number, b []byte) ([]byte, error) {
	return scratch.Through(dst,
		func(buf []byte) ([]byte, error) { return p.appendKept(buf, b) },
		func(dst, message []byte) ([]byte, error) { return AppendBytesField(dst, num, message), nil })
}

// appendKeptEntry appends an entry of a map: its field, whose payload is b.
func (p *plan) appendKeptEntry(dst []byte, f *planField, field, b []byte) ([]byte, error) {
	m, err := p.readMapEntry(b)
	switch {
	case err != nil || !f.hasKey(m.key):
		return dst, err
	case f.keys != nil || m.value == nil:
		return append(dst, field...), nil
	}
	return scratch.Through(dst,
		func(buf []byte) ([]byte, error) {
			return f.sub.appendKeptMessage(appendBytes(buf, entryKey, m.key), entryValue, m.value)
		},
		func(dst, entry []byte) ([]byte, error) {
			return AppendBytesField(dst, protowire.Number(f.num), entry), nil
		})
}
