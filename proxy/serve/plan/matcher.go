package plan

import (
	"errors"
	"fmt"

	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	"sluice/cache/tree"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
)

// matcher is a tree.Filter by labels, fields and shards.
type matcher struct {
	labels labels.Selector // nil for any
	fields []requirement
	shards *shards       // nil for any
	keys   tree.Range    // of a watch in the scope of an index, which does not restrict keys
	some   *request.Read // whose namespaces alone match; nil for all
}

// requirement is one term of a field selector.
type requirement struct {
	position int // in tree.Object.Fields, positionName or positionNamespace
	value    string
	equal    bool
}

// The positions of the fields that are in the key.
const (
	positionName      = -1
	positionNamespace = -2
)

// errUnknownField is returned for a field selector that names a field which the resource does not
// support.
var errUnknownField = errors.New("unknown field")

func newMatcher(f selectableFields, byLabels labels.Selector, byFields apifields.Selector) (*matcher, error) {
	m := &matcher{}
	if !byLabels.Empty() {
		m.labels = byLabels
	}
	for _, r := range byFields.Requirements() {
		position, ok := f.Position(r.Field)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: %w", r.Field, errUnknownField)
		case r.Field == discovery.FieldName:
			position = positionName
		case r.Field == discovery.FieldNamespace:
			position = positionNamespace
		}
		m.fields = append(m.fields, requirement{position, r.Value, r.Operator != operators.NotEquals})
	}
	return m, nil
}

// Match implements tree.Filter.
func (m *matcher) Match(o *tree.Object) bool {
	if !m.keys.Contains(o.Key) || m.some != nil && !shows(m.some, o.Key) {
		return false
	}
	for _, r := range m.fields {
		if (r.of(o) == r.value) != r.equal {
			return false
		}
	}
	if m.labels != nil && !m.labels.Matches(objectLabels{o}) {
		return false
	}
	return m.shards == nil || m.shards.match(o)
}

// of returns the value of the field in an object.
func (r requirement) of(o *tree.Object) string {
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

// objectLabels implements labels.Labels by the labels of an object.
type objectLabels struct{ *tree.Object }

// Has implements labels.Labels.
func (l objectLabels) Has(key string) bool {
	_, ok := l.Label(key)
	return ok
}

// Get implements labels.Labels.
func (l objectLabels) Get(key string) string {
	value, _ := l.Label(key)
	return value
}

// Lookup implements labels.Labels.
func (l objectLabels) Lookup(key string) (string, bool) { return l.Label(key) }

var _ labels.Labels = objectLabels{}
