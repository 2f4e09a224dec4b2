package tree

import (
	"slices"
	"sort"
)

const (
	nodeMax = 32 // greatest number of children of an inner node
	nodeMin = 8  // least number, except at the root
)

// node is a node of a persistent B+ tree. It is immutable once a snapshot can reach it; each update
// copies the path from the root to one leaf. A leaf has a segment; an inner node has children, and
// all leaves have the same depth. A nil node is an empty tree.
type node struct {
	first   Key // smallest key of the subtree
	count   int // number of objects in the subtree
	bytes   int64
	segment *Segment // of a leaf
	kids    []*node  // children of an inner node
}

func leaf(objects []*Object) *node {
	s := newSegment(objects)
	return &node{first: objects[0].Key, count: len(objects), bytes: s.bytes, segment: s}
}

func inner(kids []*node) *node {
	n := &node{first: kids[0].first, kids: kids}
	for _, k := range kids {
		n.count += k.count
		n.bytes += k.bytes
	}
	return n
}

// build returns a tree of objects, which must be in strictly ascending order of keys.
func build(objects []*Object) *node {
	if len(objects) == 0 {
		return nil
	}
	level := make([]*node, 0, len(objects)/(segmentMax*3/4)+1)
	for part := range chunks(objects, segmentMax*3/4, segmentMax) {
		level = append(level, leaves(part)...)
	}
	for len(level) > 1 {
		next := make([]*node, 0, len(level)/(nodeMax*3/4)+1)
		for part := range chunks(level, nodeMax*3/4, nodeMax) {
			next = append(next, inner(part))
		}
		level = next
	}
	return level[0]
}

// chunks yields copies of parts of items. The parts have nearly equal lengths, near want and at
// most limit, so that none of them underflows.
func chunks[T any](items []T, want, limit int) func(yield func([]T) bool) {
	parts := (len(items) + want - 1) / want
	if len(items) <= limit {
		parts = 1
	}
	return func(yield func([]T) bool) {
		for i := range parts {
			from, to := i*len(items)/parts, (i+1)*len(items)/parts
			if !yield(slices.Clone(items[from:to])) {
				return
			}
		}
	}
}

// child returns the index of the only child that may have k.
func (n *node) child(k Key) int {
	i := sort.Search(len(n.kids), func(i int) bool { return n.kids[i].first > k })
	return max(i-1, 0)
}

func (n *node) get(k Key) *Object {
	for n != nil && n.segment == nil {
		n = n.kids[n.child(k)]
	}
	if n == nil {
		return nil
	}
	if i, ok := n.segment.search(k); ok {
		return n.segment.objects[i]
	}
	return nil
}

// put returns the tree with o added, or replacing the object of the same key.
func (n *node) put(o *Object) *node {
	if n == nil {
		return leaf([]*Object{o})
	}
	parts := n.insert(o)
	if len(parts) == 1 {
		return parts[0].lowered()
	}
	return inner(parts)
}

// insert returns the nodes that replace n: one, or several if n is too large for one.
func (n *node) insert(o *Object) []*node {
	if n.segment != nil {
		n.segment.memos.Retire()
		return leaves(n.segment.with(o))
	}
	i := n.child(o.Key)
	parts := n.kids[i].insert(o)
	if len(parts) == 1 && parts[0].underflows() && len(n.kids) > 1 { // o may be smaller than before
		return inners(rebalance(n.kids, i, parts[0]))
	}
	return inners(splice(n.kids, i, i+1, parts...))
}

// remove returns the tree without k, which must be in it.
func (n *node) remove(k Key) *node {
	return n.without(k).lowered()
}

// lowered returns the root of the same tree without nodes of one child above it.
func (n *node) lowered() *node {
	for n != nil && n.segment == nil && len(n.kids) == 1 {
		n = n.kids[0]
	}
	return n
}

// without returns n without k: nil if nothing is left, otherwise a node that may underflow, which
// its parent then rebalances.
func (n *node) without(k Key) *node {
	if n.segment != nil {
		n.segment.memos.Retire()
		if len(n.segment.objects) == 1 {
			return nil
		}
		return leaf(n.segment.without(k))
	}
	i := n.child(k)
	kid := n.kids[i].without(k)
	var kids []*node
	switch {
	case kid == nil && len(n.kids) == 1:
		return nil
	case kid == nil:
		kids = splice(n.kids, i, i+1)
	case kid.underflows() && len(n.kids) > 1:
		kids = rebalance(n.kids, i, kid)
	default:
		kids = splice(n.kids, i, i+1, kid)
	}
	return inner(kids)
}

func (n *node) underflows() bool {
	if n.segment != nil {
		return len(n.segment.objects) < segmentMin && n.bytes < segmentMinBytes
	}
	return len(n.kids) < nodeMin
}

// rebalance replaces kids[i] by kid, which underflows, and merges it with a neighbor. If two inner
// nodes do not fit into one, it divides their content evenly between them.
func rebalance(kids []*node, i int, kid *node) []*node {
	switch {
	case kid.segment != nil:
		return joinLeaf(kids, i, kid)
	case i > 0:
		return splice(kids, i-1, i+1, inners(slices.Concat(kids[i-1].kids, kid.kids))...)
	}
	return splice(kids, 0, 2, inners(slices.Concat(kid.kids, kids[1].kids))...)
}

// joinLeaf replaces kids[i] by leaf and those neighbors that fit into one segment with it.
func joinLeaf(kids []*node, i int, leaf *node) []*node {
	from, to := i, i+1
	if i > 0 && fit(kids[i-1], leaf) {
		from, leaf = i-1, join(kids[i-1], leaf)
	}
	if to < len(kids) && leaf.underflows() && fit(leaf, kids[to]) {
		leaf = join(leaf, kids[to])
		to++
	}
	return splice(kids, from, to, leaf)
}

// fit reports whether the objects of two leaves fit into one.
func fit(a, b *node) bool {
	return a.count+b.count <= segmentMax && a.bytes+b.bytes <= SegmentBytes
}

// join returns a leaf of the objects of two.
func join(a, b *node) *node {
	a.segment.memos.Retire()
	b.segment.memos.Retire()
	return leaf(slices.Concat(a.segment.objects, b.segment.objects))
}

// leaves returns leaves of objects, as few as have room for them or one more. It takes ownership of
// objects.
func leaves(objects []*Object) []*node {
	half := len(objects) / 2
	if len(objects) <= segmentMax {
		bytes := dataBytes(objects)
		if bytes <= SegmentBytes || len(objects) == 1 {
			return []*node{leaf(objects)}
		}
		half = halfOfBytes(objects, bytes)
	}
	return append(leaves(objects[:half:half]), leaves(slices.Clone(objects[half:]))...)
}

// halfOfBytes returns the index that divides at least two objects into parts, neither of them empty,
// that are as equal in bytes as can be.
func halfOfBytes(objects []*Object, bytes int64) int {
	i, before := 0, int64(0)
	for before+int64(len(objects[i].Data))/2 < bytes/2 {
		before += int64(len(objects[i].Data))
		i++
	}
	return min(max(i, 1), len(objects)-1)
}

// inners returns one or two inner nodes of kids. It takes ownership of kids.
func inners(kids []*node) []*node {
	if len(kids) <= nodeMax {
		return []*node{inner(kids)}
	}
	half := len(kids) / 2
	return []*node{inner(kids[:half:half]), inner(slices.Clone(kids[half:]))}
}

// splice returns a copy of kids with [from, to) replaced by with.
func splice(kids []*node, from, to int, with ...*node) []*node {
	return slices.Concat(kids[:from], with, kids[to:])
}

// runs yields the parts of segments that are in r, in order, and reports whether to continue.
func (n *node) runs(r Range, yield func(Run) bool) bool {
	if n == nil {
		return true
	}
	if n.segment != nil {
		from, _ := n.segment.search(r.From)
		to := len(n.segment.objects)
		if r.To != "" {
			to, _ = n.segment.search(r.To)
		}
		return from >= to || yield(Run{n.segment, firstBits(to) &^ firstBits(from)})
	}
	for i := n.child(r.From); i < len(n.kids); i++ {
		if r.To != "" && n.kids[i].first >= r.To {
			break
		}
		if !n.kids[i].runs(r, yield) {
			return false
		}
	}
	return true
}

// rank returns the number of keys that are smaller than k.
func (n *node) rank(k Key) int {
	rank := 0
	for n != nil && n.segment == nil {
		i := n.child(k)
		for _, kid := range n.kids[:i] {
			rank += kid.count
		}
		n = n.kids[i]
	}
	if n == nil {
		return 0
	}
	i, _ := n.segment.search(k)
	return rank + i
}
