package tree

import (
	"iter"
	"slices"
	"strings"
	"unsafe"
)

// fewLabels is how many labels an object has at most, unless somebody keeps data in labels: the apiserver accepts
// 80,000. The strings of few are shared, so that selectors that read many objects find them in the CPU's caches.
// None of many may cost an allocation, since the events of a store are applied one after the other.
const fewLabels = 16

// Label is one label of an object.
type Label struct{ Key, Value string }

// SetLabels sets the labels of a new object, which are parts of its Data unless they had to be decoded. Of equal
// keys, the first counts.
func (o *Object) SetLabels(labels iter.Seq2[[]byte, []byte]) {
	n := 0
	for range labels {
		n++
	}
	if n == 0 {
		return
	}
	o.Labels = make([]Label, 0, n)
	for key, value := range labels {
		o.Labels = append(o.Labels, Label{o.text(key, n), o.text(value, n)})
	}
	byKey := func(a, b Label) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(o.Labels, byKey) { // as an extension server may send them
		slices.SortStableFunc(o.Labels, byKey)
	}
}

// text returns b, which is a key or value of one of so many labels, as a string that b may not change.
func (o *Object) text(b []byte, labels int) string {
	switch {
	case labels <= fewLabels && len(b) <= internMax:
		return Intern(b)
	case isWithin(b, o.Data):
		return unsafe.String(unsafe.SliceData(b), len(b)) // Data never changes
	}
	o.copied += len(b)
	return string(b)
}

// isWithin reports whether part is a part of whole, in memory.
func isWithin(part, whole []byte) bool {
	offset := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return offset < uintptr(len(whole)) && uintptr(len(part)) <= uintptr(len(whole))-offset
}

// Label returns the value of a label.
func (o *Object) Label(key string) (value string, ok bool) {
	if len(o.Labels) > fewLabels {
		i, ok := slices.BinarySearchFunc(o.Labels, key, func(l Label, key string) int { return strings.Compare(l.Key, key) })
		if !ok {
			return "", false
		}
		return o.Labels[i].Value, true
	}
	for _, l := range o.Labels { // costs less
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}
