package framing

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Framing puts the objects of one resource into responses in one encoding. After an error the result is invalid.
// A list is AppendListHead, the items with Separator between them, AppendListTail.
type Framing interface {
	// AppendObject appends the response to a get.
	AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error)
	// AppendItem appends an item of a list.
	AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error)
	// Separator returns the separator of two items; it may be empty.
	Separator() string
	// AppendListHead appends the beginning of a list of n items, whose length in bytes is size.
	AppendListHead(dst []byte, meta *metav1.ListMeta, n, size int) []byte
	// AppendListTail appends the end of a list of n items.
	AppendListTail(dst []byte, meta *metav1.ListMeta, n int) []byte
	// AppendEvent appends a watch event. first says that it is the first one of its stream.
	AppendEvent(dst []byte, typ string, src []byte, e ObjectEncoder, first bool) ([]byte, error)
	// AppendErrorEvent appends an ERROR event.
	AppendErrorEvent(dst []byte, s *metav1.Status) []byte
}

// ObjectEncoder encodes one stored object: without envelope, tag or newline around it.
type ObjectEncoder interface {
	// AppendObject appends the object with its kind and apiVersion, which are part of the envelope in
	// Protobuf. first says that it is the first object of its stream.
	AppendObject(dst, src []byte, first bool) ([]byte, error)
	// AppendItem appends the object as an item of a list.
	AppendItem(dst, src []byte) ([]byte, error)
}

// Passthrough is the ObjectEncoder of objects that are stored as they are sent: Protobuf as Protobuf,
// custom resources in JSON as JSON.
type Passthrough struct{}

func (Passthrough) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return append(dst, src...), nil
}

func (Passthrough) AppendItem(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }
