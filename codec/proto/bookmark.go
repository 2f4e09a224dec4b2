package proto

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AppendZero appends the zero object of the kind as a raw message: every field that is neither a
// pointer nor a slice nor a map is present and empty.
func (s *Schema) AppendZero(dst []byte) []byte {
	return append(dst, s.zero...)
}

// The fields of the zero ObjectMeta before the resource version (name, generateName, namespace,
// selfLink, uid) and after it (generation, creationTimestamp).
const (
	metaBefore = "\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00"
	metaAfter  = "\x38\x00\x42\x00"
)

// AppendBookmark appends the object of a BOOKMARK event as a raw message: the zero object with this
// resource version and, if initialEventsEnd is set, with the annotation k8s.io/initial-events-end.
// The kind must have metadata.
func (s *Schema) AppendBookmark(dst []byte, resourceVersion string, initialEventsEnd bool) []byte {
	annotation := bytesSize(len(metav1.InitialEventsAnnotationKey)) + bytesSize(len("true"))
	size := len(metaBefore) + bytesSize(len(resourceVersion)) + len(metaAfter)
	if initialEventsEnd {
		size += bytesSize(annotation)
	}
	dst = append(appendHead(dst, objectMeta, size), metaBefore...)
	dst = append(appendBytes(dst, metaResourceVersion, resourceVersion), metaAfter...)
	if initialEventsEnd {
		dst = appendHead(dst, metaAnnotations, annotation)
		dst = appendBytes(dst, entryKey, metav1.InitialEventsAnnotationKey)
		dst = appendBytes(dst, entryValue, "true")
	}
	return append(dst, s.zero[s.zeroMetaEnd:]...)
}
