package cbor

import (
	"bytes"
	stdjson "encoding/json"
	"errors"

	"sluice/codec/json"
)

// errDuplicate stops a transcoder at an object that has, or may have, duplicate names.
var errDuplicate = errors.New("duplicate name")

// seen records the names of one open object and detects duplicates without comparing all pairs. A
// name whose bit in the filter is clear is new. Up to fewNames, other names are compared with all
// before them. Larger objects are mostly maps, which encoders sort: while their names ascend, there
// is no duplicate. If they do not ascend and are more than manyNames, the object is treated as if
// it had duplicates, which is slower and equally correct.
type seen struct {
	first    int    // index in transcoder.names of the first name of the object
	filter   uint64 // one bit per hash of a name
	unsorted bool   // the names do not ascend; valid beyond fewNames
}

const (
	fewNames  = 24
	manyNames = 256
)

// distinct records a name, which is in dst with its head. It reports false if the name is, or may
// be, a duplicate.
func (t *transcoder) distinct(s *seen, name span) bool {
	names := t.names[s.first:]
	t.names = append(t.names, name)
	bit := t.bit(name)
	isNew := s.filter&bit == 0
	s.filter |= bit
	switch n := len(names); {
	case n < fewNames:
		return isNew || !t.among(names, name)
	case n == fewNames:
		s.unsorted = !t.ascending(names)
	}
	if !s.unsorted {
		if t.ascends(names[len(names)-1], name) {
			return true
		}
		s.unsorted = true
	}
	return isNew || len(names) <= manyNames && !t.among(names, name)
}

// among reports whether name is one of names.
func (t *transcoder) among(names []span, name span) bool {
	text := t.dst[name.start:name.end]
	for _, n := range names {
		if n.end-n.start == len(text) && bytes.Equal(t.dst[n.start:n.end], text) {
			return true
		}
	}
	return false
}

// ascending reports whether the names are strictly ascending.
func (t *transcoder) ascending(names []span) bool {
	for i := 1; i < len(names); i++ {
		if !t.ascends(names[i-1], names[i]) {
			return false
		}
	}
	return true
}

// ascends reports whether a < b, without their heads, which differ in length.
func (t *transcoder) ascends(a, b span) bool {
	return bytes.Compare(t.nameText(a), t.nameText(b)) < 0
}

// nameText returns a name without its head.
func (t *transcoder) nameText(s span) []byte {
	b := t.dst[s.start:s.end]
	switch b[0] & 31 {
	case 24:
		return b[2:]
	case 25:
		return b[3:]
	case 26:
		return b[5:]
	case 27:
		return b[9:]
	}
	return b[1:]
}

// bit returns the bit of a name in the filter.
func (t *transcoder) bit(s span) uint64 {
	b := t.dst[s.start:s.end]
	h := uint(b[0])*7 + uint(b[len(b)-1])*31 + uint(b[len(b)/2])*17
	if len(b) > 1 {
		h += uint(b[1]) * 5
	}
	return 1 << (h & 63)
}

// appendDistinct is AppendFromJSON for JSON with duplicate names: it decodes the value, so that the
// last duplicate counts, and encodes the result.
func appendDistinct(dst, src []byte) ([]byte, error) {
	d := stdjson.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return dst, at(ErrJSON, "JSON ("+err.Error()+")", int(d.InputOffset()))
	}
	return appendAny(dst, v)
}

func appendAny(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, Null), nil
	case bool:
		return AppendBool(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case stdjson.Number:
		n := json.Value(v)
		if i, ok := n.Int(); ok {
			return AppendInt(dst, i), nil
		}
		f, ok := n.Float()
		if !ok {
			return dst, at(ErrNumber, "JSON number "+string(v), 0)
		}
		return AppendFloat(dst, f), nil
	case []any:
		dst = AppendArray(dst, len(v))
		for _, e := range v {
			if dst, err = appendAny(dst, e); err != nil {
				return dst, err
			}
		}
	case map[string]any:
		dst = AppendMap(dst, len(v))
		for name, e := range v {
			if dst, err = appendAny(AppendString(dst, name), e); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}
