package tree

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns an object of one of four namespaces whose names begin alike, or of none, with a field of few values.
func random(rnd *rand.Rand, version uint64) *Object {
	namespace := []string{"", "n", "n0", "n1", "n-a"}[rnd.IntN(5)]
	o := object(KeyOf(namespace, fmt.Sprintf("o%03d", rnd.IntN(400))), version)
	if value := []string{"", "a", "a0", "a\x01"}[rnd.IntN(4)]; value != "" || rnd.IntN(2) == 0 {
		o.Fields = []string{value}
	}
	if rnd.IntN(5) == 0 { // they count beyond objectMemory
		o.Labels = make([]Label, rnd.IntN(3*fewLabels))
	}
	return o
}

// Under random churn, a tree and its index show of each range, by each value, what a sorted list of the objects
// shows.
func TestTreeAndIndexShowWhatAListShows(t *testing.T) {
	field := 0
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		tree, model := New(nil, &field), map[Key]*Object{}
		for version := range uint64(3000) {
			o := random(rnd, version+1)
			if previous := model[o.Key]; previous != nil && rnd.IntN(3) == 0 {
				tree = tree.With(previous, nil)
				delete(model, o.Key)
			} else {
				tree = tree.With(previous, o)
				model[o.Key] = o
			}
			mustBeValid(t, tree)
			if version%100 != 0 {
				continue
			}
			keys := slices.Sorted(maps.Keys(model))
			from, to := random(rnd, 0).Key, random(rnd, 0).Key
			for _, r := range []Range{{}, Namespace("n"), Namespace("n0"), Single(from), {From: from}, {To: to}, {From: from, To: to}} {
				of := func(value *string) (want []*Object) {
					for _, k := range keys {
						if k >= r.From && (r.To == "" || k < r.To) && (value == nil || model[k].Field(field) == *value) {
							want = append(want, model[k])
						}
					}
					return want
				}
				mustShow(t, tree.Objects(r), tree.Count(r), of(nil))
				for _, value := range []string{"", "a", "a0", "a\x01", "b"} {
					mustShow(t, tree.ByIndex(value, r), tree.CountByIndex(value, r), of(&value))
				}
			}
		}
	}
}

func mustShow(t *testing.T, got iter.Seq[*Object], count int, want []*Object) {
	t.Helper()
	if all := slices.Collect(got); !slices.Equal(all, want) || count != len(want) {
		t.Fatalf("%d objects, counted as %d, want %d", len(all), count, len(want))
	}
}

// The separator of the range is the slash, so that neighbors in the order of bytes are not in it.
func TestNamespaceHoldsNoKeyOfAnother(t *testing.T) {
	for _, k := range []Key{"n", "n-a/x", "n.a/x", "n0/x", "n00/x", "n1/x", "m/x"} {
		if Namespace("n").Contains(k) {
			t.Errorf("n has %s", k)
		}
	}
	if !Namespace("n").Contains("n/x") || !Namespace("").Contains("n/x") {
		t.Error("n lacks n/x")
	}
}

// Entries of the index have keys of their own, which no reader may see.
func TestMemoOfARunOfTheIndexIsOfTheObjects(t *testing.T) {
	field, objects := 0, []*Object{{Key: "a", Fields: []string{"v"}}, {Key: "b", Fields: []string{"v"}}}
	tree := New(objects, &field)
	for run := range tree.RunsByIndex("v", Range{}) {
		_, err := run.Memo(NewBudget(1<<20), "x", func(got []*Object) (any, int64, error) {
			if !slices.Equal(got, objects) {
				t.Errorf("%d objects, the first with key %q", len(got), got[0].Key)
			}
			return nil, 1, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
