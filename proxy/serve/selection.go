package serve

import (
	"errors"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	"sluice/cache"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

// selection is which objects of a collection are wanted.
type selection struct {
	keys     cache.Range
	scope    cache.Scope  // of a watch
	indexed  *string      // value of the indexed field; nil for any
	filter   cache.Filter // what keys and index do not tell; nil for nothing
	narrowed bool         // by a field selector, to a name or a namespace
	shards   string       // the shard selector; empty for none
}

var errUnknownField = errors.New("unknown field")

// newSelection reads the selectors. An error means that the apiserver would
// refuse them.
func newSelection(c *resources.CachedResource, namespace string, o *request.ListOptions) (selection, error) {
	s := selection{keys: cache.Namespace(namespace), scope: cache.Scope{Namespace: namespace}}
	if o.LabelSelector == "" && o.FieldSelector == "" && o.ShardSelector == "" {
		return s, nil
	}
	m := &matcher{}
	byLabels, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return s, fmt.Errorf("label selector: %w", err)
	}
	if !byLabels.Empty() {
		m.labels = byLabels
	}
	byFields, err := apifields.ParseSelector(o.FieldSelector)
	if err != nil {
		return s, fmt.Errorf("field selector: %w", err)
	}
	for _, r := range byFields.Requirements() {
		if err := m.require(c, r); err != nil {
			return s, err
		}
	}
	if o.ShardSelector != "" {
		if m.shards, err = newShards(o.ShardSelector, &c.Resource); err != nil {
			return s, err
		}
		s.shards = m.shards.selector
	}
	s.filter = m
	s.narrow(c, namespace, byFields)
	s.index(c, m)
	return s, nil
}

// narrow uses the names that the fields require to find the objects by key.
func (s *selection) narrow(c *resources.CachedResource, namespace string, f apifields.Selector) {
	if ns, ok := f.RequiresExactMatch(resources.FieldNamespace); ok && namespace == "" && ns != "" && c.Resource.Namespaced {
		namespace, s.narrowed = ns, true
		s.keys, s.scope = cache.Namespace(ns), cache.Scope{Namespace: ns}
	}
	name, ok := f.RequiresExactMatch(resources.FieldName)
	if !ok || name == "" || (namespace == "") == c.Resource.Namespaced {
		return
	}
	k := cache.KeyOf(namespace, name)
	s.keys, s.scope, s.narrowed = cache.Single(k), cache.Scope{Key: k}, true
}

// index uses the store's index, if a field that has one must have some value.
func (s *selection) index(c *resources.CachedResource, m *matcher) {
	if s.scope.Key != "" {
		return
	}
	for _, r := range m.fields {
		if r.equal && r.position >= 0 && c.Indexed(r.position) {
			s.indexed = &r.value
			m.keys = s.keys
			s.scope = cache.Scope{Indexed: true, Value: r.value}
			return
		}
	}
}

// objects yields the wanted objects of a state, in key order.
func (s *selection) objects(state *cache.Snapshot) iter.Seq[*cache.Object] {
	all := state.Objects(s.keys)
	if s.indexed != nil {
		all = state.ByIndex(*s.indexed, s.keys)
	}
	if s.filter == nil {
		return all
	}
	return func(yield func(*cache.Object) bool) {
		for o := range all {
			if s.filter.Match(o) && !yield(o) {
				return
			}
		}
	}
}

// shardInfo names the selected shards in the metadata of a list; nil without a shard selector.
func (s *selection) shardInfo() *metav1.ShardInfo {
	if s.shards == "" {
		return nil
	}
	return &metav1.ShardInfo{Selector: s.shards}
}

// matcher is a cache.Filter by labels, fields and shards.
type matcher struct {
	labels labels.Selector // nil for any
	fields []requirement
	shards *shards     // nil for any
	keys   cache.Range // what a watch's scope does not tell
}

// requirement is one term of a field selector.
type requirement struct {
	position int // in cache.Object.Fields, or one of those below
	value    string
	equal    bool
}

// The positions of what is in the key.
const (
	positionName      = -1
	positionNamespace = -2
)

func (m *matcher) require(c *resources.CachedResource, r apifields.Requirement) error {
	position, ok := c.Field(r.Field)
	switch {
	case !ok:
		return fmt.Errorf("%q: %w", r.Field, errUnknownField)
	case r.Field == resources.FieldName:
		position = positionName
	case r.Field == resources.FieldNamespace:
		position = positionNamespace
	}
	m.fields = append(m.fields, requirement{position, r.Value, r.Operator != operators.NotEquals})
	return nil
}

// Match implements cache.Filter.
func (m *matcher) Match(o *cache.Object) bool {
	if !m.keys.Contains(o.Key) {
		return false
	}
	for _, r := range m.fields {
		if (r.of(o) == r.value) != r.equal {
			return false
		}
	}
	if m.labels != nil && !m.labels.Matches(labelView{o}) {
		return false
	}
	return m.shards == nil || m.shards.match(o)
}

func (r requirement) of(o *cache.Object) string {
	switch {
	case r.position == positionName:
		return o.Key.Name()
	case r.position == positionNamespace:
		return o.Key.Namespace()
	case r.position < len(o.Fields):
		return o.Fields[r.position]
	}
	return ""
}

// labelView shows an object's labels to a selector.
type labelView struct{ *cache.Object }

func (v labelView) Has(key string) bool {
	_, ok := v.Label(key)
	return ok
}

func (v labelView) Get(key string) string {
	value, _ := v.Label(key)
	return value
}

func (v labelView) Lookup(key string) (string, bool) { return v.Label(key) }

var _ labels.Labels = labelView{}
