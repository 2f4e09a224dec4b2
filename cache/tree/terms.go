package tree

import (
	"hash/maphash"
	"slices"
)

// Terms are conditions that every object of a selection meets: for each term, one of its labels, or the
// value of a field. The zero value selects every object.
type Terms struct {
	labels [][]uint32 // fingerprints of the labels of each term
	fields []fieldTerm
}

type fieldTerm struct {
	position int // in Object.Fields
	print    uint32
}

// RequireLabel adds a term: the object has the label key with one of the values.
func (t *Terms) RequireLabel(key string, values ...string) {
	var prints []uint32
	for _, v := range values {
		prints = append(prints, fingerprint(key, v))
	}
	t.labels = append(t.labels, prints)
}

// RequireField adds a term: the field at a position of Object.Fields has the value. An empty value adds
// none, since objects without the field have it, too.
func (t *Terms) RequireField(position int, value string) {
	if value != "" {
		t.fields = append(t.fields, fieldTerm{position, fingerprint(value)})
	}
}

// Empty reports whether there are no terms.
func (t Terms) Empty() bool { return len(t.labels) == 0 && len(t.fields) == 0 }

var fingerprintSeed = maphash.MakeSeed()

func fingerprint(parts ...string) uint32 {
	var h uint64
	for _, p := range parts {
		h = h*31 + maphash.String(fingerprintSeed, p)
	}
	return uint32(h >> 32)
}

// termIndex finds the objects of one segment by their labels, or by the value of one field. It has the
// fingerprint of each label or value in ascending order, and the set of the objects that have it. Two
// may share a fingerprint, so that a set is too large, never too small.
type termIndex struct {
	prints  []uint32
	objects []uint64
}

// A segment keeps the termIndex of its labels under labelIndexKey, and each termIndex of a field under
// fieldIndexKey, the position of the field.
type (
	labelIndexKey struct{}
	fieldIndexKey int
)

// termIndexEntry is the memory of a label or value in a termIndex, in bytes.
const termIndexEntry = 4 + 8

// termIndexMax bounds the labels of a segment that is indexed. To sort more takes longer than to search each of the
// objects, and each update of the segment would have them sorted again.
const termIndexMax = 4096

// labelPrints calls add with the fingerprint of each label of an object, of one that has too many only of some.
func labelPrints(o *Object, add func(uint32)) {
	for _, l := range o.Labels[:min(len(o.Labels), termIndexMax+1)] {
		add(fingerprint(l.Key, l.Value))
	}
}

// fieldPrints returns a function that calls add with the fingerprint of the value of the field at a position.
func fieldPrints(position int) func(o *Object, add func(uint32)) {
	return func(o *Object, add func(uint32)) {
		if position < len(o.Fields) {
			add(fingerprint(o.Fields[position]))
		}
	}
}

// newTermIndex returns nil for objects of too many labels.
func newTermIndex(objects []*Object, prints func(o *Object, add func(uint32))) *termIndex {
	all := make([]uint64, 0, 4*len(objects)) // fingerprints, each before the position of its object
	for i, o := range objects {
		prints(o, func(p uint32) { all = append(all, uint64(p)<<8|uint64(i)) })
		if len(all) > termIndexMax {
			return nil
		}
	}
	slices.Sort(all)
	distinct := 0
	for i, p := range all {
		if i == 0 || p>>8 != all[i-1]>>8 {
			distinct++
		}
	}
	x := &termIndex{make([]uint32, 0, distinct), make([]uint64, 0, distinct)}
	for i, p := range all {
		if i == 0 || p>>8 != all[i-1]>>8 {
			x.prints, x.objects = append(x.prints, uint32(p>>8)), append(x.objects, 0)
		}
		x.objects[len(x.objects)-1] |= 1 << (p & 0xff)
	}
	return x
}

// find returns the set of the objects that may have one of the labels or values.
func (x *termIndex) find(prints ...uint32) (any uint64) {
	for _, p := range prints {
		if i, ok := slices.BinarySearch(x.prints, p); ok {
			any |= x.objects[i]
		}
	}
	return any
}

// candidates returns the set of the objects of the segment that may meet all terms: all of them, if a scan
// costs less than an index. An index is made for the second selection that reads the segment, since
// segments that change all the time have no use for one.
func (s *Segment) candidates(t Terms, b *Budget) uint64 {
	all := ^uint64(0)
	if b.Limit() == 0 {
		return all
	}
	again := s.selected.Load()
	if !again {
		s.selected.Store(true)
	}
	if len(t.labels) > 0 {
		if x := s.termIndex(b, labelIndexKey{}, again, labelPrints); x != nil {
			for _, prints := range t.labels {
				all &= x.find(prints...)
			}
		}
	}
	for _, f := range t.fields {
		if x := s.termIndex(b, fieldIndexKey(f.position), again, fieldPrints(f.position)); x != nil {
			all &= x.find(f.print)
		}
	}
	return all
}

// termIndex returns an index of the segment, or nil if there is none and it is not to be made, or cannot be.
func (s *Segment) termIndex(b *Budget, key any, make bool, prints func(o *Object, add func(uint32))) *termIndex {
	if v, ok := s.Recall(key); ok {
		return v.(*termIndex)
	}
	if !make {
		return nil
	}
	s.selected.Store(false) // so that an index that the budget cannot keep is not made each time
	v, _ := s.Memo(b, key, func(objects []*Object) (any, int64, error) {
		x := newTermIndex(objects, prints)
		if x == nil {
			return x, termIndexEntry, nil
		}
		return x, int64(len(x.prints)) * termIndexEntry, nil
	})
	x, _ := v.(*termIndex) // none if what makes it for another reader has panicked
	return x
}
