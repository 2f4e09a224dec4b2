package history

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Scope is the part of a resource that a client reads. The zero Scope is the whole resource.
type Scope struct {
	Namespace string
	// Namespaces are the only ones that the client may read, separated by commas; empty for all.
	Namespaces string
	Labels     string // a label selector
	Fields     string // a field selector
}

// hasSelector reports whether the scope has a label or field selector, or is of some namespaces.
func (s Scope) hasSelector() bool { return s.Labels != "" || s.Fields != "" || s.Namespaces != "" }

func (s Scope) String() string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"namespace ", s.Namespace}, {"namespaces ", s.Namespaces}, {"labels ", s.Labels}, {"fields ", s.Fields},
	} {
		if p.value != "" {
			parts = append(parts, p.name+p.value)
		}
	}
	if len(parts) == 0 {
		return "the whole resource"
	}
	return strings.Join(parts, ", ")
}

// Match returns a function that reports whether an object is in the scope; nil is not.
func (s Scope) Match() (func(*Object) bool, error) {
	byLabel, err := labels.Parse(s.Labels)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	byField, err := fields.ParseSelector(s.Fields)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	return func(o *Object) bool {
		return o != nil && (s.Namespace == "" || o.Namespace() == s.Namespace) &&
			(s.Namespaces == "" || slices.Contains(strings.Split(s.Namespaces, ","), o.Namespace())) &&
			byLabel.Matches(labels.Set(o.Labels)) && (byField.Empty() || byField.Matches(o.fieldSet()))
	}, nil
}

func (o *Object) fieldSet() fields.Set {
	set := fields.Set{"metadata.name": o.Name(), "metadata.namespace": o.Namespace()}
	for k, v := range o.Fields {
		set[k] = v
	}
	return set
}
