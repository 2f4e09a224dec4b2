package codec

import (
	"time"

	"sluice/codec/json"
)

// tableBody gives Tables in JSON: an object is a Table of one row, an item is a row (wire.md 1.5).
type tableBody struct {
	of      body // gives the object in JSON
	columns Columns
	version string // of meta.k8s.io
	include Include
	now     time.Time // zero: the time of writing
}

// object appends a Table of one row. Only the first of a stream carries the column definitions.
func (t tableBody) object(dst, src []byte, first bool) ([]byte, error) {
	return t.single(dst, src, first, t.include)
}

func (t tableBody) single(dst, src []byte, first bool, include Include) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = t.of.object(s.b[:0], src, false); err != nil {
		return dst, err
	}
	meta, err := json.ParseObjectMeta(s.b)
	if err != nil {
		return dst, err
	}
	base := len(dst)
	dst = appendTypeMeta(dst, "Table", t.version)
	dst = append(dst, `,"metadata":{`...)
	if len(meta.ResourceVersion) > 0 {
		dst = append(dst, `"resourceVersion":`...)
		dst = json.AppendString(dst, meta.ResourceVersion)
	}
	dst = append(dst, `},"columnDefinitions":`...)
	if first || t.columns.Repeats() {
		dst = t.columns.AppendDefinitions(dst)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"rows":[`...)
	if dst, err = t.row(dst, s.b, include); err != nil {
		return dst[:base], err
	}
	return append(dst, "]}"...), nil
}

// item appends a row.
func (t tableBody) item(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = t.of.object(s.b[:0], src, false); err != nil {
		return dst, err
	}
	return t.row(dst, s.b, t.include)
}

// row appends {"cells":[…],"object":…} for an object in JSON. On an error dst is as long as it was.
func (t tableBody) row(dst, obj []byte, include Include) ([]byte, error) {
	now := t.now
	if now.IsZero() {
		now = time.Now()
	}
	base := len(dst)
	dst, err := t.columns.AppendCells(append(dst, `{"cells":`...), obj, now)
	if err != nil {
		return dst[:base], err
	}
	dst = t.appendConditions(dst, obj)
	dst = append(dst, `,"object":`...)
	switch include {
	case IncludeNone:
		dst = append(dst, "null"...)
	case IncludeObject:
		dst = append(dst, obj...)
	default:
		dst, err = json.AppendPartialObjectMetadata(dst, obj, t.version)
	}
	if err != nil {
		return dst[:base], err
	}
	return append(dst, '}'), nil
}

// appendConditions appends the row's conditions member, if it has any.
func (t tableBody) appendConditions(dst, obj []byte) []byte {
	base := len(dst)
	dst = append(dst, `,"conditions":`...)
	n := len(dst)
	if dst = t.columns.AppendConditions(dst, obj); len(dst) == n {
		return dst[:base]
	}
	return dst
}

// appendTypeMeta appends the beginning of a typed object: {"kind":…,"apiVersion":…
func appendTypeMeta(dst []byte, kind, apiVersion string) []byte {
	dst = append(dst, `{"kind":`...)
	dst = json.AppendString(dst, kind)
	dst = append(dst, `,"apiVersion":`...)
	return json.AppendString(dst, apiVersion)
}
