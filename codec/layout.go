package codec

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// layout puts one encoding's framing around bodies: whole responses, lists and events.
type layout interface {
	appendObject(dst, src []byte) ([]byte, error)
	appendItem(dst, src []byte) ([]byte, error)
	separator() string
	appendHead(dst []byte, meta *metav1.ListMeta, n, size int) []byte
	appendTail(dst []byte, meta *metav1.ListMeta, n int) []byte
	appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error)
	appendStatus(dst []byte, s *metav1.Status) []byte
}
