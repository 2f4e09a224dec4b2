package cbor

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"sluice/codec/json"
)

// ErrDecode is returned for CBOR that the apiserver refuses.
var ErrDecode = errors.New("cannot decode CBOR")

// AppendFromJSON appends one JSON value as CBOR, without the self-described tag and with sorted members. A
// number that is spelled as an integer and fits int64 becomes an integer; every other number, 1.0 and 1e3
// included, becomes a float. Of duplicate names the last counts, as for the apiserver.
//
// The error is json.ErrSyntax with the reason, also for a number beyond float64; dst is then returned unchanged.
func AppendFromJSON(dst, src []byte) ([]byte, error) {
	var v any
	if err := kjson.Unmarshal(src, &v); err != nil {
		return dst, fmt.Errorf("%w: %w", json.ErrSyntax, err)
	}
	out, err := direct.Marshal(v)
	return append(dst, out...), err
}

// AppendJSON appends one CBOR item as JSON with the meaning that it has for the apiserver. The item
// may begin with the self-described tag, strings and names may be text or byte strings, and lengths
// may be indefinite. A byte string becomes text, encoded if it has the tag for expected base64url
// (21), base64 (22) or base16 (23). Times (tags 0 and 1) become RFC 3339 text; other tags are
// dropped. Members are sorted. Floats have a point or an exponent, so that they stay floats.
//
// The error wraps ErrDecode and the error of the apiserver's decoder: for bytes that are not
// well-formed or that follow the item, duplicate names, names that are not strings, text that is not
// UTF-8, NaN and infinities, integers beyond int64, simple values except false, true and null, and
// nesting beyond json.MaxDepth. Unlike the apiserver, AppendJSON also refuses names that are not
// UTF-8, which JSON cannot express. dst is then returned unchanged.
func AppendJSON(dst, src []byte) ([]byte, error) {
	var v any
	if err := direct.Unmarshal(src, &v); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	v, err := printable(v)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	out, err := stdjson.Marshal(v)
	return append(dst, out...), err
}

// printable replaces the floats in a decoded value by numbers that encoding/json does not print as integers.
func printable(v any) (_ any, err error) {
	switch v := v.(type) {
	case float64:
		b := json.AppendFloat(nil, v)
		if v == math.Trunc(v) && math.Abs(v) < 1e21 { // others have an exponent
			b = append(b, '.', '0')
		}
		return stdjson.Number(b), nil
	case []any:
		for i := range v {
			if v[i], err = printable(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, e := range v {
			if !utf8.ValidString(name) { // two such names could become the same
				return nil, fmt.Errorf("map key %q is not UTF-8: %w", name, json.ErrSyntax)
			}
			if v[name], err = printable(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
