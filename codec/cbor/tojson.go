package cbor

import (
	"errors"
	"math"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"sluice/codec/json"
)

// AppendJSON appends one CBOR item as JSON with the meaning that it has for the apiserver in a
// request body. The item may begin with the self-described tag, strings and names may be text or
// byte strings, and lengths may be indefinite. A byte string becomes text, encoded if it has the
// tag for expected base64url (21), base64 (22) or base16 (23). Times (tags 0 and 1) become RFC 3339
// text; other tags are dropped. Members are sorted. Floats have a point or an exponent, so that
// they stay floats.
//
// limit is the largest length of the JSON, in bytes; 0 is unlimited.
//
// The error wraps json.ErrSize, or ErrDecode with the text of the apiserver: for bytes that are not
// well-formed or that follow the item, duplicate names, names that are not strings, text that is
// not UTF-8, NaN and infinities, integers beyond int64, simple values except false, true and null,
// and nesting beyond json.MaxDepth. Unlike the apiserver, AppendJSON also refuses names that are
// not UTF-8, which JSON cannot express. dst is then returned unchanged.
func AppendJSON(dst, src []byte, limit int) ([]byte, error) {
	var v any
	if err := direct.Unmarshal(src, &v); err != nil {
		return dst, &decodeError{err}
	}
	dst, err := json.AppendTree(dst, v, limit, prepare)
	if errors.Is(err, json.ErrSyntax) {
		err = &decodeError{err}
	}
	return dst, err
}

// decodeError has the text of the decoder's error and wraps ErrDecode.
type decodeError struct{ err error }

func (e *decodeError) Error() string   { return e.err.Error() }
func (e *decodeError) Unwrap() []error { return []error{ErrDecode, e.err} }

// prepare turns a decoded value into one that json.AppendTree prints with the meaning that the value has in CBOR.
func prepare(v any) (any, error) {
	if f, ok := v.(float64); ok {
		return floatJSON(f), nil
	}
	return v, nil
}

// floatJSON prints a float in the way of encoding/json, but never as an integer.
func floatJSON(f float64) json.Value {
	b := json.AppendFloat(nil, f)
	if f == math.Trunc(f) && math.Abs(f) < 1e21 { // others have an exponent
		b = append(b, '.', '0')
	}
	return b
}
