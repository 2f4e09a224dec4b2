package proto

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// A fieldReader reads the values of a kind's selectable fields out of a raw object.
type fieldReader struct {
	fields    []SelectableField
	values    int // the number of values to read: one per field, then one per fallback
	fallbacks []fallback
	root      pathNode
}

// A fallback replaces value number of by value number from if the former is empty.
type fallback struct{ of, from int }

// A pathNode is one element of the paths of selectable fields: a message that holds values, or a
// value.
type pathNode struct {
	num     int // field number in the parent
	op      op
	first   bool  // of a repeated field, only the first element counts
	values  []int // the values read here; several if labels share a path
	nodes   []pathNode
	message bool
}

// SelectableFields returns the labels that field selectors may use for this kind. The caller must
// not change them.
func (s *Schema) SelectableFields() []SelectableField { return s.reader.fields }

// FieldIndex returns the index of a label in the values of AppendFieldValues, or false if the kind
// does not have the label. Aliases, such as spec.host of pods, are known.
func (s *Schema) FieldIndex(label string) (int, bool) {
	if name, ok := fieldAliases[[2]string{s.APIVersion + " " + s.Kind, label}]; ok {
		label = name
	}
	i := slices.IndexFunc(s.reader.fields, func(s SelectableField) bool { return s.Label == label })
	return i, i >= 0
}

// AppendFieldValues appends the values of the kind's selectable fields in a raw object, in the
// order of SelectableFields. The strings alias raw, which must not be changed while they are in
// use. Only numbers above 99 allocate. Errors: ErrTruncated, ErrVarint, ErrTag, ErrWireType; dst is
// then returned unchanged.
func (s *Schema) AppendFieldValues(dst []string, raw []byte) ([]string, error) {
	low := len(dst)
	for i := range s.reader.values {
		zero := ""
		if i < len(s.reader.fields) {
			zero = s.reader.fields[i].Zero
		}
		dst = append(dst, zero)
	}
	values := dst[low:]
	if err := s.reader.root.read(values, raw); err != nil {
		return dst[:low], withOffset(err, s.plan.name, 0)
	}
	for _, f := range s.reader.fallbacks {
		if values[f.of] == "" {
			values[f.of] = values[f.from]
		}
	}
	return dst[:low+len(s.reader.fields)], nil
}

// read walks the fields of a message and skips those that are on no path.
func (n *pathNode) read(values []string, b []byte) error {
	seen := uint64(0) // repeated fields whose first element has been read
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return err
		}
		i = f.end
		for k := range n.nodes {
			c := &n.nodes[k]
			if c.num != f.num || seen>>k&1 != 0 {
				continue
			}
			if f.typ != int(c.op.wireType()) {
				return ErrWireType
			}
			if c.first {
				seen |= 1 << k
			}
			if err := c.set(values, f, b[f.start:f.end]); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// set stores a value, or reads the message that holds it.
func (n *pathNode) set(values []string, f field, payload []byte) error {
	if n.message {
		return n.read(values, payload)
	}
	var v string
	switch n.op {
	case opBool:
		v = strconv.FormatBool(f.value != 0)
	case opInt32:
		v = strconv.Itoa(int(int32(f.value)))
	default:
		v = unsafe.String(unsafe.SliceData(payload), len(payload))
	}
	for _, i := range n.values {
		values[i] = v
	}
	return nil
}

// newFieldReader compiles the selectable fields of a kind. Kinds without metadata, such as lists,
// have none.
func newFieldReader(apiVersion, kind string, p *plan) (fieldReader, error) {
	if f, ok := p.fieldByName("metadata"); !ok || f.sub == nil || f.sub.typ != objectMetaType {
		return fieldReader{}, nil
	}
	r := fieldReader{fields: SelectableFields(apiVersion, kind)}
	r.values = len(r.fields)
	for i, s := range r.fields {
		if err := r.root.add(p, s.Path, i); err != nil {
			return fieldReader{}, err
		}
		if s.Fallback == "" {
			continue
		}
		if err := r.root.add(p, s.Fallback, r.values); err != nil {
			return fieldReader{}, err
		}
		r.fallbacks = append(r.fallbacks, fallback{i, r.values})
		r.values++
	}
	return r, nil
}

// add adds the nodes of a path that ends in value number i.
func (n *pathNode) add(p *plan, path string, i int) error {
	if path == "" {
		return nil
	}
	name, rest, _ := strings.Cut(path, ".")
	name, first := strings.CutSuffix(name, "[0]")
	f, ok := p.fieldByName(name)
	if !ok || first != (f.op == opRepeated) {
		return fmt.Errorf("%s has no field %s: %w", p.name, name, errSchema)
	}
	k := slices.IndexFunc(n.nodes, func(c pathNode) bool { return c.num == f.num })
	if k < 0 {
		k = len(n.nodes)
		o := f.op
		if first {
			o = f.elem
		}
		n.nodes = append(n.nodes, pathNode{num: f.num, op: o, first: first, message: f.sub != nil})
	}
	c := &n.nodes[k]
	if c.message != (rest != "") || !c.message && c.op != opString && c.op != opBool && c.op != opInt32 {
		return fmt.Errorf("%s.%s is no value: %w", p.name, name, errSchema)
	}
	if rest == "" {
		c.values = append(c.values, i)
		return nil
	}
	return c.add(f.sub, rest, i)
}

// fieldByName returns the field with a JSON name, inlined fields excluded.
func (p *plan) fieldByName(name string) (*planField, bool) {
	for i := range p.fields {
		if p.fields[i].out[asJSON].key == `,"`+name+`":` {
			return &p.fields[i], true
		}
	}
	return nil, false
}
