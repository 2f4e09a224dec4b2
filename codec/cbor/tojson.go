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

// Limits bounds what AppendJSON accepts.
type Limits struct {
	Size   int // bytes; 0 is unlimited, for callers that bounded their reading
	Output int // bytes of JSON, one text more at most; 0 is unlimited
}

// AppendJSON appends one CBOR item as JSON, as the apiserver understands a
// request body: the self-described tag may lead it, strings and names may be
// text or bytes, lengths indefinite. A byte string is text; with the tag of
// an expected base64 (22), base64url (21) or base16 (23) encoding it becomes
// that. Times (tags 0 and 1) become RFC 3339 text, other tags are taken off.
// Members come out sorted. A float keeps a point or an exponent, so that it
// is not taken for an integer.
//
// The error wraps ErrSize, or ErrDecode with the apiserver's own text: bytes
// that are not well-formed or are followed by others, duplicate names, names
// that are no strings or, unlike there, no UTF-8, text that is not UTF-8, NaN and infinities, integers
// beyond int64, simple values other than false, true and null, nesting beyond
// json.MaxDepth. dst is then returned unchanged.
func AppendJSON(dst, src []byte, limits Limits) ([]byte, error) {
	if limits.Size > 0 && len(src) > limits.Size {
		return dst, fmt.Errorf("%d bytes, limit is %d: %w", len(src), limits.Size, ErrSize)
	}
	var v any
	if err := decoding.Unmarshal(src, &v); err != nil {
		return dst, &decodeError{err}
	}
	w := writer{max: math.MaxInt}
	if limits.Output > 0 {
		w.max = len(dst) + limits.Output
	}
	out, err := w.value(dst, v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// decodeError is the decoder's error, unwrapping to ErrDecode as well.
type decodeError struct{ err error }

func (e *decodeError) Error() string   { return e.err.Error() }
func (e *decodeError) Unwrap() []error { return []error{ErrDecode, e.err} }

// writer makes JSON of what the decoder builds.
type writer struct{ max int } // the length that it must not exceed

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

// object appends a map, its names sorted. One that is not UTF-8 has no
// form in JSON, and two of them could come out the same.
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

// appendFloatJSON prints a float as encoding/json does but never as an
// integer.
func appendFloatJSON(dst []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		dst = append(dst, '.', '0')
	}
	return dst
}

// decoding is the mode in which the apiserver decodes into an unstructured
// object; each setting that is not the library's default is one of its.
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

// onlySimple rejects all simple values but those given.
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
