package json

import "fmt"

// ObjectMeta is the part of an object's TypeMeta and metadata that caching and selecting need. All
// fields alias the object; fields that the object lacks are nil.
type ObjectMeta struct {
	APIVersion, Kind []byte

	Namespace, Name, ResourceVersion []byte

	Labels, Annotations Value // objects
}

// The fields of an ObjectMeta as bits, so that parsing stops once it has all of them.
const (
	haveAPIVersion = 1 << iota
	haveKind
	haveMetadata

	haveTop = 1<<iota - 1
)

const (
	haveNamespace = 1 << iota
	haveName
	haveResourceVersion
	haveLabels
	haveAnnotations

	haveAllMeta = 1<<iota - 1
)

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
		return meta, at(ErrNotObject, "object", m.pos)
	}
	var err error
	for have := 0; have != haveTop && m.next(); {
		switch {
		case have&haveMetadata == 0 && m.is("metadata"):
			have |= haveMetadata
			err = meta.read(m.val)
		case have&haveKind == 0 && m.is("kind"):
			have |= haveKind
			meta.Kind, err = text(m.val, "kind")
		case have&haveAPIVersion == 0 && m.is("apiVersion"):
			have |= haveAPIVersion
			meta.APIVersion, err = text(m.val, "apiVersion")
		}
		if err != nil {
			return meta, err
		}
	}
	if m.bad {
		return meta, at(ErrSyntax, "object", m.pos)
	}
	return meta, nil
}

// read fills in the fields from the object's metadata.
func (meta *ObjectMeta) read(metadata Value) (err error) {
	if metadata.Kind() == Null {
		return nil
	}
	m := membersOf(metadata)
	if m.bad {
		return fmt.Errorf("metadata is %s: %w", metadata.Kind(), ErrFieldType)
	}
	for have := 0; have != haveAllMeta && err == nil && m.next(); {
		switch {
		case have&haveName == 0 && m.is("name"):
			have |= haveName
			meta.Name, err = text(m.val, "metadata.name")
		case have&haveNamespace == 0 && m.is("namespace"):
			have |= haveNamespace
			meta.Namespace, err = text(m.val, "metadata.namespace")
		case have&haveResourceVersion == 0 && m.is("resourceVersion"):
			have |= haveResourceVersion
			meta.ResourceVersion, err = text(m.val, "metadata.resourceVersion")
		case have&haveLabels == 0 && m.is("labels"):
			have |= haveLabels
			meta.Labels, err = object(m.val, "metadata.labels")
		case have&haveAnnotations == 0 && m.is("annotations"):
			have |= haveAnnotations
			meta.Annotations, err = object(m.val, "metadata.annotations")
		}
	}
	if err == nil && m.bad {
		return at(ErrSyntax, "metadata", m.pos)
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
