package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type element struct{ value, place int }

func TestFirstIsBeforeAllOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := New(func(a, b *element) bool { return a.value < b.value }, func(e *element) *int { return &e.place })
	var all []*element
	in := map[*element]bool{}
	for range 50 {
		all = append(all, &element{})
	}
	for range 5000 {
		e := all[random.IntN(len(all))]
		e.value, in[e] = random.IntN(100), random.IntN(3) > 0
		h.Update(e, in[e])
		var values []int
		for e := range in {
			switch {
			case in[e]:
				values = append(values, e.value)
			case e.place != 0:
				t.Fatalf("a removed element is at %d", e.place)
			}
		}
		if len(h.All) != len(values) || len(values) > 0 && h.All[0].value != slices.Min(values) {
			t.Fatalf("the first of %v is %v", values, h.All)
		}
		for i, e := range h.All {
			if e.place != i+1 {
				t.Fatalf("element %d is at %d", i+1, e.place)
			}
		}
	}
}
