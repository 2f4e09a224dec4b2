package cbor

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"sluice/codec/json"
)

// errDuplicate stops a transcoder at an object that has, or may have, duplicate names.
var errDuplicate = errors.New("duplicate name")

// manyNames is how many names of one object are compared with each other, unless they ascend.
const manyNames = 256

// seen tells which names one open object has.
type seen struct {
	first    int  // index in transcoder.names of the first name
	unsorted bool // the names do not ascend
}

// distinct records a name, which is in dst with its head. It reports false if the name is, or may be, a duplicate. Encoders
// sort maps, and while names ascend there is no duplicate. Other objects have few names, so that each can be compared with
// all before it. An object with many unsorted names is treated as if it had duplicates, which is slower and equally correct.
func (t *transcoder) distinct(s *seen, name span) bool {
	names := t.names[s.first:]
	t.names = append(t.names, name)
	if n := len(names); !s.unsorted && (n == 0 || t.ascends(names[n-1], name)) {
		return true
	}
	s.unsorted = true
	return len(names) <= manyNames && !t.among(names, name)
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

// appendDistinct is AppendFromJSON for JSON with duplicate names, by way of Go values, as at the apiserver: the last duplicate
// counts.
func appendDistinct(dst, src []byte) ([]byte, error) {
	var v any
	var number *stdjson.UnmarshalTypeError
	switch err := kjson.Unmarshal(src, &v); {
	case errors.As(err, &number):
		return dst, json.At(ErrNumber, "JSON", int(number.Offset))
	case err != nil:
		return dst, fmt.Errorf("%w: %w", json.ErrSyntax, err)
	}
	out, err := direct.Marshal(v)
	return append(dst, out...), err
}
