package proto

import "iter"

// Field numbers of every list kind, and of metav1.ListMeta.
const (
	listMeta = 1
	listItem = 2

	listMetaSelfLink        = 1
	listMetaResourceVersion = 2
	listMetaContinue        = 3
	listMetaRemaining       = 4
	listMetaShardInfo       = 5

	shardInfoSelector = 1
)

// ListMeta is the metadata of a list. The byte slices alias the list.
type ListMeta struct {
	ResourceVersion, Continue []byte
	Remaining                 int64 // remainingItemCount, if HasRemaining
	HasRemaining              bool
	ShardSelector             []byte // shardInfo.selector
}

// ParseListMeta parses the metadata of a raw list, which is its first field. Unknown fields are
// ignored. It returns the errors of ParseEnvelope.
func ParseListMeta(list []byte) (ListMeta, error) {
	var m ListMeta
	if len(list) == 0 {
		return m, nil
	}
	f, err := readField(list, 0)
	switch {
	case err != nil:
		return m, withOffset(err, "list", 0)
	case f.num != listMeta:
		return m, nil
	case f.typ != wireBytes:
		return m, withOffset(ErrWireType, "list metadata", 0)
	}
	b := list[f.start:f.end]
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err == nil {
			err = m.set(f, b[f.start:f.end])
		}
		if err != nil {
			return ListMeta{}, withOffset(err, "list metadata", i)
		}
		i = f.end
	}
	return m, nil
}

// set stores one field of metav1.ListMeta.
func (m *ListMeta) set(f field, payload []byte) error {
	want := wireBytes
	if f.num == listMetaRemaining {
		want = wireVarint
	}
	if f.num <= listMetaShardInfo && f.typ != want {
		return ErrWireType
	}
	switch f.num {
	case listMetaResourceVersion:
		m.ResourceVersion = payload
	case listMetaContinue:
		m.Continue = payload
	case listMetaRemaining:
		m.Remaining, m.HasRemaining = int64(f.value), true
	case listMetaShardInfo:
		p, err := lastField(payload, shardInfoSelector)
		m.ShardSelector = payload[p.start:p.end]
		return err
	}
	return nil
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
				yield(nil, withOffset(err, "list", i))
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
