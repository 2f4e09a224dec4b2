package proto

// objectMeta is the field number of metadata in every object kind.
const objectMeta = 1

// Field numbers of metav1.ObjectMeta.
const (
	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaLabels          = 11
	metaAnnotations     = 12
)

// Field numbers of a map entry.
const (
	entryKey   = 1
	entryValue = 2
)

// ObjectMeta is the metadata of an object. The byte slices alias the object; a field that the
// object does not have is empty.
type ObjectMeta struct {
	Namespace, Name, ResourceVersion, UID []byte

	raw []byte // the ObjectMeta message: checked, every field in bounds
}

// ParseObjectMeta parses the metadata of a raw object. Errors: ErrTruncated, ErrVarint, ErrTag,
// ErrWireType, ErrForm. Unknown fields are ignored here; Schema.Check rejects them.
func ParseObjectMeta(raw []byte) (ObjectMeta, error) {
	b, err := objectMetaBytes(raw)
	if err != nil {
		return ObjectMeta{}, err
	}
	m := ObjectMeta{raw: b}
	var inEntry error
	err = walk(b, objectMetaTypes, false, func(f field, v []byte) {
		switch f.num {
		case metaName:
			m.Name = v
		case metaNamespace:
			m.Namespace = v
		case metaUID:
			m.UID = v
		case metaResourceVersion:
			m.ResourceVersion = v
		case metaLabels, metaAnnotations:
			if _, _, err := parsePair(v); err != nil {
				inEntry = err
			}
		}
	})
	if err == nil {
		err = inEntry
	}
	if err != nil {
		return ObjectMeta{}, in(err, "metadata")
	}
	return m, nil
}

// objectMetaTypes are the wire types of the fields of metav1.ObjectMeta, up to the annotations.
var objectMetaTypes = []uint8{
	wireBytes, wireBytes, wireBytes, wireBytes, wireBytes, wireBytes, wireVarint, wireBytes, wireBytes, wireVarint, wireBytes, wireBytes,
}

// objectMetaBytes returns the ObjectMeta message of a raw object, or nil if there is none. Error: ErrForm
// for a message in several parts.
func objectMetaBytes(raw []byte) (meta []byte, err error) {
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		switch {
		case err != nil || f.num != objectMeta:
		case f.typ != wireBytes:
			err = ErrWireType
		case meta != nil:
			err = ErrForm
		default:
			meta = raw[f.start:f.end:f.end]
		}
		if err != nil {
			return nil, in(err, "object")
		}
		i = f.end
	}
	return meta, nil
}

// Labels yields the labels in wire order; the apiserver writes them in key order. A key that is on
// the wire twice is yielded twice, and the last occurrence counts.
func (m ObjectMeta) Labels(yield func(key, value []byte) bool) {
	m.entries(metaLabels, yield)
}

// Annotation returns the value of an annotation, and whether the object has it.
func (m ObjectMeta) Annotation(key string) (value []byte, ok bool) {
	m.entries(metaAnnotations, func(k, v []byte) bool {
		if string(k) == key {
			value, ok = v, true
		}
		return true
	})
	return value, ok
}

func (m ObjectMeta) entries(num int, yield func(key, value []byte) bool) {
	for i := 0; i < len(m.raw); {
		f, err := readField(m.raw, i)
		if err != nil {
			return
		}
		if f.num == num {
			key, value, _ := parsePair(m.raw[f.start:f.end]) // checked
			if !yield(key, value) {
				return
			}
		}
		i = f.end
	}
}
