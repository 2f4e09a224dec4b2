package tree

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// labeled returns an object with some of six labels of few values, and one of its own.
func labeled(rnd *rand.Rand, i int, rv uint64) *Object {
	o := &Object{Key: KeyOf(fmt.Sprintf("ns%d", i%3), fmt.Sprintf("o%04d", i)), RV: rv, Data: []byte("data")}
	for k := range 6 {
		if rnd.IntN(2) == 0 {
			o.Labels = append(o.Labels, Label{fmt.Sprintf("k%d", k), fmt.Sprintf("v%d", rnd.IntN(1+k*k))})
		}
	}
	o.Labels = append(o.Labels, Label{"own", fmt.Sprint(i)})
	for n := range rnd.IntN(3) { // some lack the second field, some both
		o.Fields = append(o.Fields, []string{"", "a", "b"}[rnd.IntN(2+n)])
	}
	return o
}

// term is a random condition, and what it means.
type term struct {
	key    string
	values []string
	field  int // the position of a field, if there is no key
}

func randomTerms(rnd *rand.Rand) (terms []term) {
	for range rnd.IntN(4) {
		k := rnd.IntN(7)
		t := term{key: fmt.Sprintf("k%d", k)}
		for range rnd.IntN(4) {
			t.values = append(t.values, fmt.Sprintf("v%d", rnd.IntN(2+k*k)))
		}
		terms = append(terms, t)
	}
	for field := range 2 {
		if rnd.IntN(3) == 0 {
			terms = append(terms, term{values: []string{[]string{"", "a", "b"}[rnd.IntN(3)]}, field: field})
		}
	}
	return terms
}

func meets(o *Object, terms []term) bool {
	for _, t := range terms {
		if t.key == "" {
			if o.Field(t.field) != t.values[0] {
				return false
			}
		} else if v, ok := o.Label(t.key); !ok || !slices.Contains(t.values, v) {
			return false
		}
	}
	return true
}

// filter selects the objects that meet all terms.
type filter []term

// Match implements Filter.
func (f filter) Match(o *Object) bool { return meets(o, f) }

// Under random churn, a selection by indexes has the objects of a scan, in the newest tree and
// in trees of the past, whatever the budget keeps.
func TestIndexesFindWhatAScanFinds(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		var objects []*Object
		for i := range 1000 {
			objects = append(objects, labeled(rnd, i, 1))
		}
		slices.SortFunc(objects, func(a, b *Object) int { return cmp.Compare(a.Key, b.Key) })
		tree := New(objects, nil)
		budgets := []*Budget{NewBudget(1 << 30), NewBudget(20_000), NewBudget(10), nil}
		trees := []Tree{tree}
		skipped := 0
		for version := uint64(2); version < 1500; version++ {
			o := labeled(rnd, rnd.IntN(1200), version)
			previous := tree.Get(o.Key)
			next := o
			if previous != nil && rnd.IntN(3) == 0 {
				next = nil
			}
			tree = tree.With(previous, next)
			mustBeValid(t, tree)
			if version%100 == 0 {
				trees = append(trees, tree)
			}
			if version%10 != 0 {
				continue
			}
			shown := tree
			if rnd.IntN(3) == 0 {
				shown = trees[rnd.IntN(len(trees))]
			}
			r := []Range{{}, Namespace("ns1"), {From: KeyOf("ns0", "o0500"), To: KeyOf("ns2", "o0300")}, Single(KeyOf("ns1", "o0001"))}[rnd.IntN(4)]
			terms := randomTerms(rnd)
			var compiled Terms
			for _, term := range terms {
				if term.key == "" {
					compiled.RequireField(term.field, term.values[0])
				} else {
					compiled.RequireLabel(term.key, term.values...)
				}
			}
			var want, got []*Object
			for o := range shown.Objects(r) {
				if meets(o, terms) {
					want = append(want, o)
				}
			}
			yielded := 0
			for run := range shown.Select(compiled, r, budgets[rnd.IntN(len(budgets))]) {
				yielded += run.Len()
				if matching := run.Matching(filter(terms)); matching.Set != 0 {
					got = append(got, matching.Objects()...)
				}
			}
			skipped += shown.Count(r) - yielded
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, version %d: %d objects with %v, want %d", seed, version, len(got), terms, len(want))
			}
		}
		if skipped == 0 {
			t.Error("no index skips anything")
		}
	}
}

// An index is made for the second selection, and an update makes one of a segment only.
func TestIndexesAreMadeForWhatIsSelectedAgain(t *testing.T) {
	var objects []*Object
	for i := range 1000 {
		o := object(Key(fmt.Sprintf("o%04d", i)), 1)
		o.Labels = []Label{{"app", fmt.Sprint(i / 100)}, {"i", fmt.Sprint(i % 50)}}
		objects = append(objects, o)
	}
	tree, budget := New(objects, nil), NewBudget(1<<20)
	var terms Terms
	terms.RequireLabel("app", "7")
	yields := func() (n int) {
		for run := range tree.Select(terms, Range{}, budget) {
			n += run.Len()
		}
		return n
	}
	if n := yields(); n != 1000 || budget.Used() != 0 {
		t.Errorf("the first selection reads %d objects and keeps %d bytes", n, budget.Used())
	}
	if n := yields(); n != 100 || budget.Used() == 0 || budget.Used() > 1000*2*termIndexEntry {
		t.Errorf("the second selection reads %d objects and keeps %d bytes", n, budget.Used())
	}
	old := objects[5]
	tree = tree.With(old, &Object{Key: old.Key, RV: 2, Data: old.Data, Labels: old.Labels})
	if n := yields(); n <= 100 || n > 100+segmentMax {
		t.Errorf("after an update a selection reads %d objects", n)
	}
	if n := yields(); n != 100 {
		t.Errorf("then a selection reads %d objects", n)
	}
}

// A segment of very many labels is not indexed, and is selected from all the same.
func TestVeryManyLabelsAreNotIndexed(t *testing.T) {
	numbers := make([]int, termIndexMax)
	for i := range numbers {
		numbers[i] = i
	}
	var objects []*Object
	for _, k := range []Key{"a", "b"} {
		o, labels := withLabels(k, numbers, false)
		o.SetLabels(labels)
		objects = append(objects, o)
	}
	tree, budget := New(objects, nil), NewBudget(1<<20)
	var terms Terms
	terms.RequireLabel("k0007", "v0007")
	for range 3 {
		n := 0
		for run := range tree.Select(terms, Range{}, budget) {
			n += run.Len()
		}
		if n != len(objects) {
			t.Errorf("%d objects are selected", n)
		}
	}
	if budget.Used() > 1000 {
		t.Errorf("the index takes %d bytes", budget.Used())
	}
}
