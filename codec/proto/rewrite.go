package proto

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AppendWithResourceVersion appends raw with its metadata.resourceVersion replaced and every other
// byte unchanged, if raw has passed Schema.Check. It serves DELETED events of objects that left a
// selector, which carry the previous object with the new version.
func AppendWithResourceVersion(dst, raw []byte, resourceVersion string) ([]byte, error) {
	base := len(dst)
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		switch {
		case err != nil:
		case f.num != objectMeta:
			dst = append(dst, raw[i:f.end]...)
		case f.typ != wireBytes:
			err = ErrWireType
		default:
			var meta metav1.ObjectMeta
			err = meta.Unmarshal(raw[f.start:f.end])
			meta.ResourceVersion = resourceVersion
			b, _ := meta.Marshal() // into a buffer of its size, so it cannot fail
			dst = appendBytes(dst, objectMeta, b)
		}
		if err != nil {
			return dst[:base], in(err, "object")
		}
		i = f.end
	}
	return dst, nil
}

// PartialObjectMetadata returns the raw PartialObjectMetadata of a raw object: a message whose only
// field is the object's metadata. The apiserver writes metadata first, so the result is normally a
// prefix of raw. It returns the errors of ParseObjectMeta.
func PartialObjectMetadata(raw []byte) ([]byte, error) {
	b, err := objectMetaBytes(raw)
	if err != nil {
		return nil, err
	}
	head := bytesSize(len(b)) - len(b)
	if n := head + len(b); len(b) > 0 && n <= len(raw) && &raw[head] == &b[0] {
		return raw[:n:n], nil
	}
	return appendBytes(nil, objectMeta, b), nil
}
