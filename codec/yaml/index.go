package yaml

import (
	"math"

	"sluice/codec/json"
)

// node is a value or the name of a member in an index of a JSON document.
type node struct {
	start, end uint32 // in the source
	next       uint32 // the index of the first node after this one and all inside it
	flags      json.StringFlags
	kind       json.Kind
}

// index lists the values of a document in the order in which they begin, each value of an object
// after its name. The printer must sort names, so it visits values out of order; without the index
// it would search for the end of each value again at every level.
type index struct {
	src   []byte
	nodes []node
	depth int
	err   error
}

// build indexes src. It reuses the memory of the previous index.
func (x *index) build(src []byte) error {
	x.src, x.nodes, x.depth, x.err = src, x.nodes[:0], 0, nil
	if uint64(len(src)) > math.MaxUint32 {
		return json.At(json.ErrSize, "JSON", len(src))
	}
	i := x.value(json.SkipSpace(src, 0))
	if i >= 0 {
		if i = json.SkipSpace(src, i); i < len(src) {
			x.fail(json.ErrSyntax, i)
		}
	}
	return x.err
}

// fail records the first error and returns -1.
func (x *index) fail(err error, i int) int {
	if x.err == nil {
		x.err = json.At(err, "JSON", i)
	}
	return -1
}

// value indexes the value at src[i] and returns the index after it, or -1.
func (x *index) value(i int) int {
	if i >= len(x.src) {
		return x.fail(json.ErrSyntax, i)
	}
	n := len(x.nodes)
	kind := json.Value(x.src[i : i+1]).Kind()
	x.nodes = append(x.nodes, node{start: uint32(i), kind: kind})
	end := -1
	switch kind {
	case json.Object, json.Array:
		end = x.container(i, kind == json.Object)
	case json.String:
		end, x.nodes[n].flags = json.SkipString(x.src, i)
	case json.Invalid:
	default:
		end = json.SkipScalar(x.src, i)
	}
	if end < 0 {
		return x.fail(json.ErrSyntax, i)
	}
	x.nodes[n].end, x.nodes[n].next = uint32(end), uint32(len(x.nodes))
	return end
}

// container indexes the members or elements of the object or array at src[i].
func (x *index) container(i int, object bool) int {
	if x.depth++; x.depth > json.MaxDepth {
		return x.fail(json.ErrDepth, i)
	}
	src, shut := x.src, x.src[i]+2 // '{' and '[' are two less than '}' and ']'
	i = json.SkipSpace(src, i+1)
	if i < len(src) && src[i] == shut {
		x.depth--
		return i + 1
	}
	for {
		if object {
			if i = x.name(i); i < 0 {
				return i
			}
		}
		if i = x.value(i); i < 0 {
			return i
		}
		i = json.SkipSpace(src, i)
		if i < len(src) && src[i] == shut {
			x.depth--
			return i + 1
		}
		if i >= len(src) || src[i] != ',' {
			return x.fail(json.ErrSyntax, i)
		}
		i = json.SkipSpace(src, i+1)
	}
}

// name indexes the name at src[i] and returns the index of the value.
func (x *index) name(i int) int {
	src := x.src
	if i >= len(src) || src[i] != '"' {
		return x.fail(json.ErrSyntax, i)
	}
	end, t := json.SkipString(src, i)
	if end < 0 {
		return x.fail(json.ErrSyntax, i)
	}
	x.nodes = append(x.nodes, node{start: uint32(i), end: uint32(end), next: uint32(len(x.nodes) + 1), flags: t, kind: json.String})
	i = json.SkipSpace(src, end)
	if i >= len(src) || src[i] != ':' {
		return x.fail(json.ErrSyntax, i)
	}
	return json.SkipSpace(src, i+1)
}
