package json

import "sluice/codec/projection"

// AppendProjected appends the fields of obj that the projection leaves, and every byte of their values unchanged.
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendProjected(dst, obj []byte, t *projection.Tree) ([]byte, error) {
	if Value(obj).Kind() != Object {
		return dst, At(ErrNotObject, "object", 0)
	}
	base := len(dst)
	dst, ok := projector(t.Keeps).appendValue(dst, obj, t.Root)
	if !ok {
		return dst[:base], At(ErrSyntax, "object", 0)
	}
	return dst, nil
}

// projector is true for a projection that keeps the fields that it names, and false for one that leaves them out.
type projector bool

// appendValue appends what the node leaves of a value, an object or, if the node says so, an array.
func (keeps projector) appendValue(dst []byte, v Value, n *projection.Node) (_ []byte, ok bool) {
	if v.Kind() == Array {
		return keeps.appendElements(dst, v, n.Each)
	}
	start := len(dst)
	m := membersOf(v)
	for m.next() {
		child := n.Each
		if child == nil {
			child = n.Fields[string(m.key())]
		}
		begin := len(dst)
		dst = append(append(append(dst, ','), m.name...), ':')
		switch {
		case child == nil && !bool(keeps), child != nil && child.Whole && bool(keeps):
			dst = append(dst, m.val...)
		case child == nil, child.Whole:
			dst = dst[:begin]
		case partial(m.val, child):
			if dst, ok = keeps.appendValue(dst, m.val, child); !ok {
				return dst, false
			}
		case bool(keeps):
			dst = dst[:begin]
		default:
			dst = append(dst, m.val...)
		}
	}
	return Enclose(dst, start, '{', '}'), !m.bad
}

// partial reports whether the paths of a node lead into the value.
func partial(v Value, n *projection.Node) bool {
	return v.Kind() == Object || v.Kind() == Array && n.Each != nil
}

// appendElements appends what the node leaves of each element of an array.
func (keeps projector) appendElements(dst []byte, v Value, n *projection.Node) (_ []byte, ok bool) {
	start := len(dst)
	for _, element := range v.Elements {
		dst = append(dst, ',')
		switch {
		case partial(element, n):
			if dst, ok = keeps.appendValue(dst, element, n); !ok {
				return dst, false
			}
		case bool(keeps):
			dst = append(dst, "null"...) // the others keep their places
		default:
			dst = append(dst, element...)
		}
	}
	return Enclose(dst, start, '[', ']'), true
}

// Enclose turns the members or elements after start, each behind a comma, into an object or array.
func Enclose(dst []byte, start int, open, end byte) []byte {
	if len(dst) == start {
		return append(dst, open, end)
	}
	dst[start] = open
	return append(dst, end)
}
