package tree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// sized returns an object of n bytes. Objects share their data.
func sized(k Key, n int) *Object { return &Object{Key: k, RV: 1, Data: sizedData[:n]} }

var sizedData = make([]byte, 3*SegmentBytes)

// object returns an object of one byte.
func object(k Key, rv uint64) *Object { return &Object{Key: k, RV: rv, Data: []byte("x")} }

// mustBeValid fails the test if a tree breaks an invariant.
func mustBeValid(t *testing.T, tree Tree) {
	t.Helper()
	if err := tree.check(); err != nil {
		t.Fatal(err)
	}
}

// leavesOf returns the segments of a tree in order.
func leavesOf(root *node) (all []*Segment) {
	root.runs(Range{}, func(r Run) bool {
		all = append(all, r.Segment)
		return true
	})
	return all
}

// A tree of objects of very different sizes keeps its order, its sums and the bounds of its segments.
func TestSegmentsAreBoundedInObjectsAndBytes(t *testing.T) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		size := func() int {
			if rnd.IntN(int(seed)%10+1) == 0 {
				return rnd.IntN(len(sizedData))
			}
			return rnd.IntN(SegmentBytes / 30)
		}
		key := func() Key { return Key(fmt.Sprintf("k%04d", rnd.IntN(1500))) }
		want := map[Key]*Object{}
		for range rnd.IntN(1000) {
			k := key()
			want[k] = sized(k, size())
		}
		var objects []*Object
		for _, k := range slices.Sorted(maps.Keys(want)) {
			objects = append(objects, want[k])
		}
		root := build(objects)
		for step := range 2000 {
			if err := validate(root); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			k := key()
			if _, ok := want[k]; ok && rnd.IntN(3) == 0 {
				delete(want, k)
				root = root.remove(k)
			} else {
				want[k] = sized(k, size())
				root = root.put(want[k])
			}
		}
		n := 0
		for _, s := range leavesOf(root) {
			for _, o := range s.objects {
				if n++; want[o.Key] != o {
					t.Fatalf("seed %d: %s is another object", seed, o.Key)
				}
			}
		}
		if n != len(want) {
			t.Fatalf("seed %d: %d objects, want %d", seed, n, len(want))
		}
	}
}

// Objects that were large and have become small do not keep segments of their own.
func TestSegmentsOfObjectsThatShrinkAreMerged(t *testing.T) {
	var root *node
	const objects = 2000
	key := func(i int) Key { return Key(fmt.Sprintf("k%04d", i)) }
	for i := range objects {
		root = root.put(sized(key(i), 2*SegmentBytes))
	}
	if n := len(leavesOf(root)); n != objects {
		t.Fatalf("%d segments of large objects", n)
	}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(objects) {
		root = root.put(sized(key(i), 100))
		mustBeValid(t, Tree{root: root})
	}
	if n := len(leavesOf(root)); n > objects/segmentMin {
		t.Errorf("%d segments of small objects", n)
	}
}
