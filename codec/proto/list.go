package proto

import (
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field numbers of every list kind.
const (
	listMeta = 1
	listItem = 2
)

// ParseListMeta parses the metadata of a raw list, which is its first field. Unknown fields are
// ignored. It returns the errors of ParseEnvelope, or that of the Go type.
func ParseListMeta(list []byte) (m metav1.ListMeta, err error) {
	if len(list) == 0 {
		return m, nil
	}
	f, err := readField(list, 0)
	switch {
	case err != nil:
		return m, in(err, "list")
	case f.num != listMeta:
		return m, nil
	case f.typ != wireBytes:
		return m, in(ErrWireType, "list metadata")
	}
	if err = m.Unmarshal(list[f.start:f.end]); err != nil {
		return m, fmt.Errorf("list metadata: %w", err)
	}
	return m, nil
}

// Items yields the raw items of a raw list in order, each aliasing the list and without envelope
// and TypeMeta. Unknown fields of the list are ignored. An error comes with a nil item and ends the
// sequence.
func Items(list []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := 0; i < len(list); {
			f, err := readField(list, i)
			if err == nil && f.num <= listItem && f.typ != wireBytes {
				err = ErrWireType
			}
			if err != nil {
				yield(nil, in(err, "list"))
				return
			}
			if f.num == listItem && !yield(list[f.start:f.end:f.end], nil) {
				return
			}
			i = f.end
		}
	}
}

// AppendItem appends a raw object as an item of a raw list.
func AppendItem(dst, raw []byte) []byte {
	return appendBytes(dst, listItem, raw)
}

// ItemSize returns the number of bytes that AppendItem appends for an object of rawSize bytes.
func ItemSize(rawSize int) int { return bytesSize(rawSize) }
