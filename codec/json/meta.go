package json

import "fmt"

// ObjectMeta is the part of an object's TypeMeta and metadata that caching and selecting need. All
// fields alias the object; fields that the object lacks are nil.
type ObjectMeta struct {
	APIVersion, Kind []byte

	Namespace, Name, ResourceVersion []byte

	Labels, Annotations Value // objects
}

// ParseObjectMeta reads an object's ObjectMeta in one pass that ends as soon as everything has been
// seen: for objects in the apiserver's field order, with kind and apiVersion, before the spec. A null
// counts as absent.
//
// The error is ErrNotObject or ErrFieldType, the latter naming the field, or ErrSyntax if the walk met
// something malformed.
func ParseObjectMeta(obj []byte) (ObjectMeta, error) {
	var meta ObjectMeta
	m := membersOf(obj)
	if m.bad {
		return meta, At(ErrNotObject, "object", m.pos)
	}
	err := m.first(topFields, func(name string, v Value) (err error) {
		switch name {
		case "metadata":
			return meta.read(v)
		case "kind":
			meta.Kind, err = text(v, name)
		case "apiVersion":
			meta.APIVersion, err = text(v, name)
		}
		return err
	})
	if err == nil && m.bad {
		err = At(ErrSyntax, "object", m.pos)
	}
	return meta, err
}

// The members that an ObjectMeta is read from.
var (
	topFields  = []string{"metadata", "kind", "apiVersion"}
	metaFields = []string{"name", "namespace", "resourceVersion", "labels", "annotations"}
)

// first calls read for the first member of each of these names, and ends once all have been seen.
func (m *members) first(names []string, read func(name string, v Value) error) error {
	for have := 0; have != 1<<len(names)-1 && m.next(); {
		for i, name := range names {
			if have>>i&1 != 0 || !m.is(name) {
				continue
			}
			have |= 1 << i
			if err := read(name, m.val); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// read fills in the fields from the object's metadata.
func (meta *ObjectMeta) read(metadata Value) error {
	if metadata.Kind() == Null {
		return nil
	}
	m := membersOf(metadata)
	if m.bad {
		return fmt.Errorf("metadata is %s: %w", metadata.Kind(), ErrFieldType)
	}
	err := m.first(metaFields, func(name string, v Value) (err error) {
		switch name {
		case "name":
			meta.Name, err = text(v, "metadata.name")
		case "namespace":
			meta.Namespace, err = text(v, "metadata.namespace")
		case "resourceVersion":
			meta.ResourceVersion, err = text(v, "metadata.resourceVersion")
		case "labels":
			meta.Labels, err = object(v, "metadata.labels")
		case "annotations":
			meta.Annotations, err = object(v, "metadata.annotations")
		}
		return err
	})
	if err == nil && m.bad {
		return At(ErrSyntax, "metadata", m.pos)
	}
	return err
}

// text returns the text of a string field; nil for null.
func text(v Value, field string) ([]byte, error) {
	if b, ok := v.Bytes(); ok {
		return b, nil
	}
	if v.Kind() == Null {
		return nil, nil
	}
	return nil, fmt.Errorf("%s is %s, not string: %w", field, v.Kind(), ErrFieldType)
}

// object returns a field whose value is an object; nil for null.
func object(v Value, field string) (Value, error) {
	switch v.Kind() {
	case Object:
		return v, nil
	case Null:
		return nil, nil
	}
	return nil, fmt.Errorf("%s is %s, not object: %w", field, v.Kind(), ErrFieldType)
}
