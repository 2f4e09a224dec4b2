package json

import "fmt"

// ObjectMeta is the part of an object's metadata that caching and selecting need. All
// fields alias the object; fields that the object lacks are nil.
type ObjectMeta struct {
	Namespace, Name, ResourceVersion []byte

	Labels, Annotations Value // objects
}

// ParseObjectMeta reads an object's ObjectMeta. It reads no further than the metadata. A null counts as absent.
//
// The error is ErrNotObject, or ErrFieldType naming the field.
func ParseObjectMeta(obj []byte) (meta ObjectMeta, err error) {
	if Value(obj).Kind() != Object {
		return meta, At(ErrNotObject, "object", 0)
	}
	metadata := Value(obj).Get("metadata")
	if k := metadata.Kind(); k > Null && k != Object {
		return meta, fmt.Errorf("metadata is %s: %w", k, ErrFieldType)
	}
	for name, v := range metadata.Members {
		want, text := String, (*[]byte)(nil)
		switch string(name) {
		case "name":
			text = &meta.Name
		case "namespace":
			text = &meta.Namespace
		case "resourceVersion":
			text = &meta.ResourceVersion
		case "labels":
			want, meta.Labels = Object, v
		case "annotations":
			want, meta.Annotations = Object, v
		default:
			continue
		}
		if k := v.Kind(); k != want && k != Null {
			return ObjectMeta{}, fmt.Errorf("metadata.%s is %s, not %s: %w", name, k, want, ErrFieldType)
		}
		if text != nil {
			*text, _ = v.Bytes()
		}
	}
	return meta, nil
}
