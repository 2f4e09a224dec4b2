package tree

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
)

// withLabels returns an object whose data are labels of five letters each, in the order of their numbers, and the
// labels as a decoder yields them: as parts of the data, or decoded.
func withLabels(k Key, numbers []int, decoded bool) (*Object, iter.Seq2[[]byte, []byte]) {
	o := &Object{Key: k, RV: 1}
	for i, n := range numbers {
		o.Data = fmt.Appendf(o.Data, "k%04dv%04d", n, i)
	}
	return o, func(yield func(key, value []byte) bool) {
		for at := 0; at < len(o.Data); at += 10 {
			key, value := o.Data[at:at+5], o.Data[at+5:at+10]
			if decoded {
				key, value = bytes.Clone(key), bytes.Clone(value)
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// An object shows the same labels whether it has few or many, in any order, decoded or not. The first of equal
// keys counts.
func TestLabelsAreFoundAmongFewAndMany(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, fewLabels, fewLabels + 1, 2000} {
		for _, decoded := range []bool{false, true} {
			for _, sorted := range []bool{false, true} {
				numbers, want := make([]int, n), map[string]string{}
				for i := range numbers {
					if numbers[i] = i / 2 * 2; !sorted {
						numbers[i] = rnd.IntN(n)
					}
					if key := fmt.Sprintf("k%04d", numbers[i]); want[key] == "" {
						want[key] = fmt.Sprintf("v%04d", i)
					}
				}
				o, labels := withLabels("a", numbers, decoded)
				o.SetLabels(labels)
				for i := range n + 1 {
					key := fmt.Sprintf("k%04d", i)
					if got, ok := o.Label(key); got != want[key] || ok != (got != "") {
						t.Fatalf("%d labels, decoded %v, sorted %v: %s is %q, want %q", n, decoded, sorted, key, got, want[key])
					}
				}
			}
		}
	}
}

func TestManyLabelsCostNoAllocationEach(t *testing.T) {
	numbers := make([]int, 5000)
	for i := range numbers {
		numbers[i] = i
	}
	o, labels := withLabels("a", numbers, false)
	n := testing.AllocsPerRun(5, func() {
		for i := 0; i < len(o.Data); i += 5 {
			o.Data[i]++ // strings that do not exist yet
		}
		o.SetLabels(labels)
	})
	if n > 10 {
		t.Errorf("%v allocations", n)
	}
}

// A tree counts the memory of labels, and of text that is a copy, and no longer when the object is gone.
func TestMemoryCountsLabels(t *testing.T) {
	const many = 5000
	few, labels := withLabels("few", []int{1, 2, 3}, true)
	few.SetLabels(labels)
	tree := New([]*Object{few}, nil)
	empty := tree.Memory()
	if want := int64(len(few.Data)) + objectMemory; empty != want {
		t.Errorf("%d bytes with few labels, want %d", empty, want)
	}
	var previous *Object
	for _, decoded := range []bool{false, true, false} {
		o, labels := withLabels("many", make([]int, many), decoded)
		o.SetLabels(labels)
		want := empty + int64(len(o.Data)+32*many+len(o.Key)) + objectOverhead
		if decoded {
			want += 10 * many
		}
		tree = tree.With(previous, o)
		mustBeValid(t, tree)
		if got, filled := tree.Memory(), New([]*Object{few, o}, nil).Memory(); got != want || filled != want {
			t.Errorf("decoded %v: %d bytes, %d in a new tree, want %d", decoded, got, filled, want)
		}
		if got := empty + o.Size(); got != want {
			t.Errorf("decoded %v: %d bytes with Size, want %d", decoded, got, want)
		}
		previous = o
	}
	tree = tree.With(previous, nil)
	mustBeValid(t, tree)
	if got := tree.Memory(); got != empty {
		t.Errorf("%d bytes after the deletion, %d without the object", got, empty)
	}
}

// The author of a CRD chooses which fields are selectable, and others how long their values are.
func TestMemoryCountsLongFields(t *testing.T) {
	o := &Object{Key: "a/x", Data: []byte("{}"), Fields: []string{"short", string(bytes.Repeat([]byte("x"), 1<<20))}}
	if got := New([]*Object{o}, nil).Memory(); got < 1<<20 || got > 1<<20+1000 {
		t.Errorf("%d bytes", got)
	}
}
