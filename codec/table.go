package codec

import (
	"time"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
	"sluice/codec/table"
)

// tableEncoder gives Tables in JSON: an object is a Table with one row, an item is a row (wire.md 1.5).
type tableEncoder struct {
	object   objectEncoder // gives JSON
	metadata objectEncoder // gives PartialObjectMetadata in JSON
	columns  *table.Columns
	version  string // of meta.k8s.io
	include  Include
	now      time.Time    // zero: the time of writing
	ages     *[]table.Age // not nil: ages are left out, and their places appended here
}

// AppendObject appends a Table with one row. Only the first one of a stream carries the column definitions.
func (t tableEncoder) AppendObject(dst, src []byte, first bool) ([]byte, error) {
	return t.withObject(dst, src, func(dst, obj []byte) ([]byte, error) {
		dst = json.AppendTypeMeta(dst, t.version, "Table")
		dst = append(dst, `,"metadata":{`...)
		if rv, _ := json.Value(obj).Get("metadata", "resourceVersion").Bytes(); len(rv) > 0 {
			dst = append(dst, `"resourceVersion":`...)
			dst = json.AppendString(dst, rv)
		}
		dst = append(dst, `},"columnDefinitions":`...)
		if first || t.columns.RepeatsDefinitions() {
			dst = t.columns.AppendDefinitions(dst)
		} else {
			dst = append(dst, "null"...)
		}
		dst, err := t.row(append(dst, `,"rows":[`...), src, obj)
		return append(dst, "]}"...), err
	})
}

// AppendItem appends a row.
func (t tableEncoder) AppendItem(dst, src []byte) ([]byte, error) {
	return t.withObject(dst, src, func(dst, obj []byte) ([]byte, error) { return t.row(dst, src, obj) })
}

// withObject appends the output of print for the stored object src in JSON.
func (t tableEncoder) withObject(dst, src []byte, print func(dst, obj []byte) ([]byte, error)) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return t.object.AppendObject(b, src, false) }, print)
}

// row appends {"cells":[…],"object":…} for the stored object src, which is obj in JSON.
func (t tableEncoder) row(dst, src, obj []byte) ([]byte, error) {
	dst, err := t.cells(append(dst, `{"cells":`...), obj)
	if err != nil {
		return dst, err
	}
	dst = t.appendConditions(dst, obj)
	dst = append(dst, `,"object":`...)
	switch t.include {
	case IncludeNone:
		dst = append(dst, "null"...)
	case IncludeObject:
		dst = append(dst, obj...)
	default:
		dst, err = t.metadata.AppendItem(dst, src)
	}
	return append(dst, '}'), err
}

// cells appends the cells of a row.
func (t tableEncoder) cells(dst, obj []byte) ([]byte, error) {
	if t.ages != nil {
		var err error
		dst, *t.ages, err = t.columns.AppendAgeless(dst, obj, *t.ages)
		return dst, err
	}
	now := t.now
	if now.IsZero() {
		now = time.Now()
	}
	return t.columns.AppendCells(dst, obj, now)
}

// appendConditions appends the conditions member of a row, if there are any.
func (t tableEncoder) appendConditions(dst, obj []byte) []byte {
	base := len(dst)
	dst = append(dst, `,"conditions":`...)
	n := len(dst)
	if dst = t.columns.AppendConditions(dst, obj); len(dst) == n {
		return dst[:base]
	}
	return dst
}
