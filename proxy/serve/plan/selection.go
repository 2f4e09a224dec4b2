package plan

import (
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apifields "k8s.io/apimachinery/pkg/fields"
	operators "k8s.io/apimachinery/pkg/selection"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
)

// Selection is which objects of a resource a read selects, and how the store finds them.
type Selection struct {
	Keys     tree.Range
	Scope    cache.Scope       // of a watch
	Indexed  *string           // the value of the indexed field; nil for any
	terms    tree.Terms        // which the filter implies
	Filter   tree.Filter       // what keys and indexed do not select already; nil for everything
	narrowed bool              // a field selector narrows it to a name or a namespace
	Shards   *metav1.ShardInfo // of the metadata of a list; nil without a shard selector
	some     *request.Read     // whose namespaces alone are shown, which the filter has, too; nil for all
}

// selectableFields are the fields that field selectors can name for a resource.
type selectableFields interface {
	// Position returns the position of a field in tree.Object.Fields, and false if there is none.
	Position(label string) (int, bool)
	// Indexed reports whether the store is indexed by the field at a position.
	Indexed(position int) bool
}

// newSelection returns the selection of a list or watch. It fails with invalidShardSelector, or with
// another error if the apiserver would refuse a selector.
func newSelection(r *codec.Resource, f selectableFields, read *request.Read, shardSelector string) (Selection, error) {
	s := Selection{Keys: tree.Namespace(read.Namespace), Scope: cache.Scope{Namespace: read.Namespace}}
	if read.Labels.Empty() && read.Fields.Empty() && shardSelector == "" && read.Namespaces == nil {
		return s, nil
	}
	m, err := newMatcher(f, read.Labels, read.Fields)
	if err != nil {
		return s, err
	}
	if shardSelector != "" {
		if m.shards, err = newShards(shardSelector, r); err != nil {
			return s, err
		}
		s.Shards = &metav1.ShardInfo{Selector: m.shards.selector}
	}
	namespace := read.Namespace
	if read.Namespaces != nil {
		s.some, m.some = read, read
	}
	if len(read.Namespaces) == 1 && !read.OfNamespaces() { // events of others do not wake the watch
		namespace = read.Namespaces[0]
		s.Keys, s.Scope = tree.Namespace(namespace), cache.Scope{Namespace: namespace}
	}
	s.Filter = m
	s.terms = m.terms()
	s.narrow(r.Namespaced, namespace, read.Fields)
	s.useIndex(f, m)
	return s, nil
}

// narrow restricts the keys to the name and namespace that the field selector requires.
func (s *Selection) narrow(namespaced bool, namespace string, f apifields.Selector) {
	if ns, ok := f.RequiresExactMatch(discovery.FieldNamespace); ok && namespace == "" && ns != "" && namespaced {
		namespace, s.narrowed = ns, true
		s.Keys, s.Scope = tree.Namespace(ns), cache.Scope{Namespace: ns}
	}
	name, ok := f.RequiresExactMatch(discovery.FieldName)
	if !ok || name == "" || (namespace == "") == namespaced {
		return
	}
	k := tree.KeyOf(namespace, name)
	s.Keys, s.Scope, s.narrowed = tree.Single(k), cache.Scope{Key: k}, true
}

// useIndex selects by the index of the store if a field that is indexed must have one value.
func (s *Selection) useIndex(f selectableFields, m *matcher) {
	if s.Scope.Key != "" {
		return
	}
	for _, r := range m.fields {
		if r.equal && r.position >= 0 && f.Indexed(r.position) {
			s.Indexed = &r.value
			m.keys = s.Keys
			s.Scope = cache.Scope{Indexed: true, Value: r.value}
			return
		}
	}
}

// maxTermValues bounds the labels that a selection looks up in the index of each segment, in all terms
// together: more of them cost more than to match the objects.
const maxTermValues = 16

// terms returns conditions that every object which matches meets, as long as they are short.
func (m *matcher) terms() (terms tree.Terms) {
	if m.labels != nil {
		requirements, _ := m.labels.Requirements()
		n := 0
		for _, r := range requirements {
			switch r.Operator() {
			case operators.Equals, operators.DoubleEquals, operators.In:
				if values := r.ValuesUnsorted(); n+len(values) <= maxTermValues {
					n += len(values)
					terms.RequireLabel(r.Key(), values...)
				}
			}
		}
	}
	for _, r := range m.fields[:min(len(m.fields), maxTermValues)] {
		if r.equal && r.position >= 0 {
			terms.RequireField(r.position, r.value)
		}
	}
	return terms
}

// Runs yields the selected objects of a state in key order: out of the index of the store if the selection is
// by it, else with the help of indexes of segments that it keeps in the budget. Runs of which nothing is selected are
// yielded empty, so that others can have their turn while objects are examined.
func (s *Selection) Runs(state *cache.Snapshot, budget *tree.Budget) iter.Seq[tree.Run] {
	if s.Filter == nil {
		return state.Runs(s.Keys)
	}
	return func(yield func(tree.Run) bool) {
		for run := range s.candidates(state, budget) {
			if !yield(run.Matching(s.Filter)) {
				return
			}
		}
	}
}

// candidates yields runs of all selected objects, and perhaps others, out of the index of the store or by the terms.
func (s *Selection) candidates(state *cache.Snapshot, budget *tree.Budget) iter.Seq[tree.Run] {
	return func(yield func(tree.Run) bool) {
		for keys := range s.parts(s.Keys) {
			runs := state.Select(s.terms, keys, budget)
			if s.Indexed != nil {
				runs = state.RunsByIndex(*s.Indexed, keys)
			}
			for run := range runs {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// parts yields the parts of a range of keys that are visible.
func (s *Selection) parts(keys tree.Range) iter.Seq[tree.Range] {
	return func(yield func(tree.Range) bool) {
		if s.some == nil {
			yield(keys)
			return
		}
		for _, part := range ranges(s.some) {
			part.From = max(part.From, keys.From)
			if keys.To != "" {
				part.To = min(part.To, keys.To)
			}
			if part.From < part.To && !yield(part) {
				return
			}
		}
	}
}

// Count returns the number of visible keys in a range, and of those that the index of the store has for the selection, if it is by it.
func (s *Selection) Count(state *cache.Snapshot, keys tree.Range) (all, indexed int) {
	for part := range s.parts(keys) {
		all += state.Count(part)
		if s.Indexed != nil {
			indexed += state.CountByIndex(*s.Indexed, part)
		}
	}
	return all, indexed
}
