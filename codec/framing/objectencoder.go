package framing

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

// AppendObject appends src.
func (Passthrough) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return append(dst, src...), nil
}

// AppendItem appends src.
func (Passthrough) AppendItem(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }
