package request

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxSelectorBytes bounds the label and field selector of a read together.
	maxSelectorBytes = 8 << 10
	// maxShardSelectorBytes bounds a shardSelector, which is an expression in CEL: 8 KiB of operators
	// take milliseconds to parse, even to find out that they are no ranges. A range has 73 bytes, and
	// clients ask for one or two.
	maxShardSelectorBytes = 1 << 10
	// maxRequirements bounds the requirements of all selectors of a read together: each costs time
	// for every object of a list and for every event of a watch.
	maxRequirements = 200
)

var (
	// ErrLargeSelector is returned for a read whose selectors are too long to be evaluated here.
	ErrLargeSelector = errors.New("selector is too large")
	// ErrAmbiguousScope is returned for a path whose last segment can be a namespace as well as the
	// name of an object: those of custom resources with the plural "namespaces".
	ErrAmbiguousScope = errors.New("path is ambiguous")
)

// Read is the selection of a get, list or watch. Access is reviewed for a Read and the store is read by
// the same Read, so that the authorized and the served objects cannot differ. It is immutable.
type Read struct {
	Verb string // "get", "list" or "watch"
	schema.GroupVersionResource
	Namespace string // empty for all namespaces and for cluster-scoped resources
	Name      string // of the object that the path names; empty for all objects
	// Namespaces, in ascending order, are the only ones whose objects the read shows, of Namespaces themselves these; nil for all.
	Namespaces []string
	// Listed are the namespaces whose objects the client of a watch has listed; nil if they are Namespaces.
	Listed []string
	Labels labels.Selector
	Fields fields.Selector
	// Unwritten reports whether the caller may neither update nor patch the objects, and is therefore shown a part of them.
	Unwritten bool
	// Legacy reports whether the read is a watch by its deprecated path. The apiserver authorizes it
	// without its selectors.
	Legacy bool
}

// Read parses the selection of the request. CanonicalPath must be true and Verb one of get, list and
// watch. It must be called only for authenticated callers, because selectors take long to parse. The
// error is ErrLargeSelector, with a Read that selects everything in its scope, ErrAmbiguousScope, or wraps
// ErrInvalidOptions.
func (i *Parsed) Read() (*Read, error) {
	r := &Read{
		Verb:                 i.Verb,
		GroupVersionResource: i.GroupVersionResource(),
		Namespace:            i.Namespace,
		Labels:               labels.Everything(),
		Fields:               fields.Everything(),
		Legacy:               i.LegacyWatchPath,
	}
	if len(i.Parts) == 2 {
		r.Name = i.Parts[1]
	}
	if r.Resource == "namespaces" && r.Namespace != "" {
		if r.Group != "" {
			return nil, ErrAmbiguousScope
		}
		r.Namespace = "" // the apiserver's parser takes the name of a Namespace for its namespace
	}
	if r.Verb == "get" {
		return r, nil
	}
	return r, r.parseSelectors(i)
}

func (r *Read) parseSelectors(i *Parsed) (err error) {
	byLabels, byFields := i.Query.Get("labelSelector"), i.Query.Get("fieldSelector")
	if len(byLabels)+len(byFields) > maxSelectorBytes || len(i.Query.Get("shardSelector")) > maxShardSelectorBytes ||
		mostRequirements(byLabels) > maxRequirements { // to parse them would cost more than to pass them
		return ErrLargeSelector
	}
	if r.Labels, err = labels.Parse(byLabels); err != nil {
		return fmt.Errorf("label selector: %w: %w", ErrInvalidOptions, err)
	}
	if r.Legacy && r.Name != "" {
		if byFields != "" {
			return fmt.Errorf("a field selector and a name: %w", ErrInvalidOptions)
		}
		r.Fields = fields.OneTermEqualSelector("metadata.name", r.Name)
	} else if r.Fields, err = fields.ParseSelector(byFields); err != nil {
		return fmt.Errorf("field selector: %w: %w", ErrInvalidOptions, err)
	}
	requirements, _ := r.Labels.Requirements()
	if len(requirements)+len(r.Fields.Requirements()) > maxRequirements {
		r.Labels, r.Fields = labels.Everything(), fields.Everything()
		return ErrLargeSelector
	}
	return nil
}

// mostRequirements returns how many requirements a label selector has at most: commas separate them, except those between values
// in parentheses.
func mostRequirements(selector string) int {
	n, inside := 1, false
	for i := range len(selector) {
		switch selector[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				n++
			}
		}
	}
	return n
}

// NamespacesHeader is the request header that asks, by the value NamespacesAllowed, for the objects of the namespaces that the caller
// may read, in answer to a list or watch across namespaces that it may not make.
const (
	NamespacesHeader  = "Sluice-Namespaces"
	NamespacesAllowed = "allowed"
)

// In returns the read of one namespace by which a part of a list or watch across namespaces is authorized. Of Namespaces
// themselves it is a get.
func (r *Read) In(namespace string) *Read {
	one := *r
	one.Namespace = namespace
	if r.OfNamespaces() {
		one.Verb, one.Namespace, one.Name, one.Fields = "get", "", namespace, fields.Everything()
	}
	return &one
}

// OfNamespaces reports whether the read is of Namespaces.
func (r *Read) OfNamespaces() bool { return r.Group == "" && r.Resource == "namespaces" }

// RequiredName returns the name that the path or the field selector requires, as the apiserver's
// RequestInfo has it; empty if neither does. On a deprecated path only the path counts.
func (r *Read) RequiredName() string {
	if r.Name != "" || r.Legacy || r.Verb == "get" {
		return r.Name
	}
	return requiredName(r.Fields)
}

// Whole reports whether the read selects every object of the resource in all namespaces.
func (r *Read) Whole() bool {
	return r.Across() && r.Namespaces == nil && r.Labels.Empty() && r.Fields.Empty()
}

// Across reports whether the read is a list or watch of the objects of all namespaces, or of a resource that has none.
func (r *Read) Across() bool {
	return r.Verb != "get" && r.Namespace == "" && r.Name == ""
}

func requiredName(f fields.Selector) string {
	name, ok := f.RequiresExactMatch("metadata.name")
	if !ok || len(content.IsPathSegmentName(name)) > 0 {
		return ""
	}
	return name
}

// ParseName sets Name of a list or watch to the name that the field selector requires, as the
// apiserver's parser does, which ignores the selectors of a query that it cannot decode. Parse leaves
// this out because selectors take long to parse: call ParseName only for authenticated callers. It does
// nothing for large selectors.
func (i *Parsed) ParseName() {
	if i.FieldSelector == "" || i.Name != "" || len(i.FieldSelector)+len(i.LabelSelector) > maxSelectorBytes ||
		i.Verb == "deletecollection" {
		return
	}
	var o internalversion.ListOptions
	if scheme.ParameterCodec.DecodeParameters(i.Query, metav1.SchemeGroupVersion, &o) != nil {
		return
	}
	if name := requiredName(o.FieldSelector); name != "" { // or a recheck of a watch would write what others read
		i.Name = name
	}
}
