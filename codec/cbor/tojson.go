package cbor

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	fxcbor "github.com/fxamacker/cbor/v2"

	"sluice/codec/json"
)

// AppendJSON appends one CBOR item as JSON with the meaning that it has for the apiserver in a
// request body. The item may begin with the self-described tag, strings and names may be text or
// byte strings, and lengths may be indefinite. A byte string becomes text, encoded if it has the
// tag for expected base64url (21), base64 (22) or base16 (23). Times (tags 0 and 1) become RFC 3339
// text; other tags are dropped. Members are sorted. Floats have a point or an exponent, so that
// they stay floats.
//
// limit is the largest length of the JSON, in bytes, which may be exceeded by one string; 0 is
// unlimited.
//
// The error wraps ErrSize, or ErrDecode with the text of the apiserver: for bytes that are not
// well-formed or that follow the item, duplicate names, names that are not strings, text that is
// not UTF-8, NaN and infinities, integers beyond int64, simple values except false, true and null,
// and nesting beyond json.MaxDepth. Unlike the apiserver, AppendJSON also refuses names that are
// not UTF-8, which JSON cannot express. dst is then returned unchanged.
func AppendJSON(dst, src []byte, limit int) ([]byte, error) {
	var v any
	if err := decoding.Unmarshal(src, &v); err != nil {
		return dst, &decodeError{err}
	}
	w := writer{max: math.MaxInt}
	if limit > 0 {
		w.max = len(dst) + limit
	}
	out, err := w.value(dst, v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// decodeError has the text of the decoder's error and wraps ErrDecode.
type decodeError struct{ err error }

func (e *decodeError) Error() string   { return e.err.Error() }
func (e *decodeError) Unwrap() []error { return []error{ErrDecode, e.err} }

// writer prints decoded values as JSON.
type writer struct{ max int } // longest allowed output, with the bytes before it

// value appends one value.
func (w writer) value(dst []byte, v any) ([]byte, error) {
	if len(dst) > w.max {
		return dst, fmt.Errorf("JSON of this CBOR: %w", ErrSize)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloatJSON(dst, v), nil
	case string:
		return json.AppendString(dst, v), nil
	case []any:
		return w.list(dst, v)
	case map[string]any:
		return w.object(dst, v)
	}
	return dst, &decodeError{fmt.Errorf("cbor: unexpected %T", v)} // the mode yields nothing else
}

func (w writer) list(dst []byte, list []any) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = w.value(dst, e); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// object appends a map with its names sorted. Names must be UTF-8: JSON cannot express others, and
// two of them could become the same name.
func (w writer) object(dst []byte, m map[string]any) (_ []byte, err error) {
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if !utf8.ValidString(name) {
			return dst, &decodeError{fmt.Errorf("cbor: map key %q is not UTF-8", name)}
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(json.AppendString(dst, name), ':')
		if dst, err = w.value(dst, m[name]); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendFloatJSON prints a float in the way of encoding/json, but never as an integer.
func appendFloatJSON(dst []byte, f float64) []byte {
	dst = json.AppendFloat(dst, f)
	if f == math.Trunc(f) && math.Abs(f) < 1e21 { // others have an exponent
		dst = append(dst, '.', '0')
	}
	return dst
}

// decoding is the mode in which the apiserver decodes into an unstructured object. Settings not
// listed are the library's defaults there, too.
var decoding = func() fxcbor.DecMode {
	mode, err := fxcbor.DecOptions{
		DupMapKey:             fxcbor.DupMapKeyEnforcedAPF,
		TimeTag:               fxcbor.DecTagOptional,
		MaxNestedLevels:       json.MaxDepth,
		MaxArrayElements:      math.MaxInt32,
		MaxMapPairs:           1 << 21,
		IntDec:                fxcbor.IntDecConvertSignedOrFail,
		MapKeyByteString:      fxcbor.MapKeyByteStringForbidden,
		DefaultMapType:        reflect.TypeFor[map[string]any](),
		DefaultByteStringType: reflect.TypeFor[string](),
		ByteStringToString:    fxcbor.ByteStringToStringAllowedWithExpectedLaterEncoding,
		UnrecognizedTagToAny:  fxcbor.UnrecognizedTagContentToAny,
		TimeTagToAny:          fxcbor.TimeTagToRFC3339Nano,
		NaN:                   fxcbor.NaNDecodeForbidden,
		Inf:                   fxcbor.InfDecodeForbidden,
		BignumTag:             fxcbor.BignumTagForbidden,
		SimpleValues:          onlySimple(False&31, True&31, Null&31),
		BinaryUnmarshaler:     fxcbor.BinaryUnmarshalerNone,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// onlySimple rejects all simple values except those given.
func onlySimple(accepted ...byte) *fxcbor.SimpleValueRegistry {
	var rejected []func(*fxcbor.SimpleValueRegistry) error
	for v := range 256 {
		reserved := 24 <= v && v < 32 // not well-formed anyway
		if !reserved && !slices.Contains(accepted, byte(v)) {
			rejected = append(rejected, fxcbor.WithRejectedSimpleValue(fxcbor.SimpleValue(v)))
		}
	}
	r, err := fxcbor.NewSimpleValueRegistryFromDefaults(rejected...)
	if err != nil {
		panic(err)
	}
	return r
}
