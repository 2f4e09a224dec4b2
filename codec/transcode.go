package codec

import (
	"fmt"

	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/codec/yaml"
)

// Limits bounds what Transcode reads.
type Limits struct {
	Size int // bytes; 0 is unlimited, for callers that bounded their reading
}

// transcoder appends one whole body in another encoding.
type transcoder func(dst, src []byte) ([]byte, error)

// transcoders is how bodies get from one encoding (first index) to another. Protobuf is in none of them: without knowing
// the kind nothing can be made of it.
var transcoders = [maxEncoding + 1][maxEncoding + 1]transcoder{
	JSON: {JSON: validJSON(copyBody), YAML: validJSON(yaml.AppendFromJSON), CBOR: validJSON(appendCBOR)},
	YAML: {JSON: yamlToJSON, YAML: copyBody, CBOR: chain(yamlToJSON, appendCBOR)},
	CBOR: {JSON: cborToJSON, YAML: chain(cborToJSON, yaml.AppendFromJSON), CBOR: copyBody},
}

// Transcode appends src, one whole request or response body, in another encoding; equal encodings copy. Bodies are read as
// the apiserver reads requests, its limits and its view of duplicate names included, and written as it writes responses:
// CBOR with its tag, YAML sorted. JSON is compact unless it is copied, without a newline, and its members are sorted.
//
// The error wraps ErrTooLarge, ErrUnsupported for pairs with Protobuf, or an error of the package of the encoding it was
// read from, with an offset where there is one, or with the apiserver's own text. On an error dst comes back as long as it
// was.
func Transcode(dst, src []byte, from, to Encoding, limits Limits) ([]byte, error) {
	if !Transcodes(from, to) {
		return dst, fmt.Errorf("%s to %s: %w", from, to, ErrUnsupported)
	}
	if limits.Size > 0 && len(src) > limits.Size {
		return dst, fmt.Errorf("%d bytes of %s, limit is %d: %w", len(src), from, limits.Size, ErrTooLarge)
	}
	out, err := transcoders[from][to](dst, src)
	if err != nil {
		return dst, fmt.Errorf("%s to %s: %w", from, to, err)
	}
	return out, nil
}

// Transcodes says whether Transcode has a way from one encoding to another.
func Transcodes(from, to Encoding) bool {
	return from <= maxEncoding && to <= maxEncoding && transcoders[from][to] != nil
}

func copyBody(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }

// validJSON checks the body before it is read: those who read it take it to be well-formed.
func validJSON(t transcoder) transcoder {
	return func(dst, src []byte) ([]byte, error) {
		if err := json.Valid(src, json.Limits{AllowInvalidUTF8: true}); err != nil {
			return dst, err
		}
		return t(dst, src)
	}
}

// appendCBOR appends a JSON document as a whole item, with the self-described tag.
func appendCBOR(dst, src []byte) ([]byte, error) {
	base := len(dst)
	dst, err := cbor.AppendFromJSON(append(dst, cbor.SelfDescribed...), src)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func cborToJSON(dst, src []byte) ([]byte, error) { return cbor.AppendJSON(dst, src, cbor.Limits{}) }
func yamlToJSON(dst, src []byte) ([]byte, error) { return yaml.ToJSON(dst, src, yaml.Limits{}) }

// chain goes by way of JSON.
func chain(first, second transcoder) transcoder {
	return func(dst, src []byte) ([]byte, error) {
		s := getScratch()
		defer s.put()
		var err error
		if s.b, err = first(s.b[:0], src); err != nil {
			return dst, err
		}
		return second(dst, s.b)
	}
}
