package tree

import "iter"

// Tree holds objects in the order of their keys, and if it has an index also in the order of the values of
// one field. It is immutable: an update returns another tree, which shares everything else with this one. The
// zero Tree is empty and has no index.
type Tree struct {
	root  *node
	index *node // nil without an index, or without objects
	field *int  // the position of the indexed field in Object.Fields; nil without an index

	beyond int64 // the sum of Object.beyond
}

// New returns a tree of objects, which must be in strictly ascending order of keys. field is the position of
// the field to index in Object.Fields, nil for none.
func New(objects []*Object, field *int) Tree {
	t := Tree{root: build(objects), field: field}
	for _, o := range objects {
		t.beyond += o.beyond()
	}
	if field != nil {
		t.index = buildIndex(objects, *field)
	}
	return t
}

// With returns the tree in which next has replaced previous, the object of the same key. A nil previous adds
// next; a nil next removes previous.
func (t Tree) With(previous, next *Object) Tree {
	if next == nil {
		t.root = t.root.remove(previous.Key)
	} else {
		t.root = t.root.put(next)
	}
	t.beyond += next.beyond() - previous.beyond()
	if t.field != nil {
		t.index = reindex(t.index, *t.field, previous, next)
	}
	return t
}

// Len returns the number of objects.
func (t Tree) Len() int {
	if t.root == nil {
		return 0
	}
	return t.root.count
}

// Bytes returns the sum of the lengths of Object.Data.
func (t Tree) Bytes() int64 {
	if t.root == nil {
		return 0
	}
	return t.root.bytes
}

// Memory returns about how many bytes of memory the objects take.
func (t Tree) Memory() int64 { return t.Bytes() + int64(t.Len())*objectMemory + t.beyond }

// Get returns the object with the given key, or nil.
func (t Tree) Get(k Key) *Object { return t.root.get(k) }

// Count returns the number of keys in r, in O(log n).
func (t Tree) Count(r Range) int {
	upper := t.Len()
	if r.To != "" {
		upper = t.root.rank(r.To)
	}
	return max(upper-t.root.rank(r.From), 0)
}

// Runs yields the objects of r in key order, one run for each segment.
func (t Tree) Runs(r Range) iter.Seq[Run] {
	return func(yield func(Run) bool) { t.root.runs(r, yield) }
}

// Objects yields the objects of r in key order.
func (t Tree) Objects(r Range) iter.Seq[*Object] {
	return objectsOf(t.Runs(r))
}

func objectsOf(runs iter.Seq[Run]) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for run := range runs {
			for _, o := range run.Objects() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Select yields runs of objects of r in key order: all objects that meet the terms, and perhaps others. It
// skips most others by indexes of the segments, which it makes and keeps in the budget. It yields an
// empty run for a segment that it skips, so that its caller can pause.
func (t Tree) Select(terms Terms, r Range, b *Budget) iter.Seq[Run] {
	if terms.Empty() {
		return t.Runs(r)
	}
	return func(yield func(Run) bool) {
		for run := range t.Runs(r) {
			if run.Set &= run.Segment.candidates(terms, b); !yield(run) {
				return
			}
		}
	}
}

// CountByIndex returns the number of keys in r whose indexed field has the given value, in O(log n). The
// tree must have an index.
func (t Tree) CountByIndex(value string, r Range) int {
	if t.index == nil {
		return 0
	}
	entries := indexRange(value, r)
	return max(t.index.rank(entries.To)-t.index.rank(entries.From), 0)
}

// RunsByIndex yields the objects of r whose indexed field has the given value, in key order, in runs of
// segments of the index. The tree must have an index.
func (t Tree) RunsByIndex(value string, r Range) iter.Seq[Run] {
	return func(yield func(Run) bool) { t.index.runs(indexRange(value, r), yield) }
}

// ByIndex yields the same objects.
func (t Tree) ByIndex(value string, r Range) iter.Seq[*Object] {
	return objectsOf(t.RunsByIndex(value, r))
}
