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
type transcoder func(dst, src []byte, limits Limits) ([]byte, error)

// transcoders is how bodies get from one encoding (first index) to another. Protobuf is in none of them: without knowing
// the kind nothing can be made of it.
var transcoders = [maxEncoding + 1][maxEncoding + 1]transcoder{
	JSON: {JSON: copyJSON, YAML: jsonToYAML, CBOR: jsonToCBOR},
	YAML: {YAML: copyBody},
	CBOR: {JSON: cborToJSON, YAML: chain(cborToJSON, jsonToYAML), CBOR: copyBody},
}

// Transcode appends src, one whole request or response body, in another encoding; equal encodings copy. Bodies are read as
// the apiserver reads requests, limits and duplicate names included, and written as it writes responses: CBOR with its
// tag, YAML sorted; JSON is compact, without a newline, and its members keep their order.
//
// The error wraps ErrUnsupported for pairs with Protobuf, or is that of the package of the encoding which it came from, with
// an offset where there is one. On an error dst comes back as long as it was.
func Transcode(dst, src []byte, from, to Encoding, limits Limits) ([]byte, error) {
	if from > maxEncoding || to > maxEncoding || transcoders[from][to] == nil {
		return dst, fmt.Errorf("%s to %s: %w", from, to, ErrUnsupported)
	}
	out, err := transcoders[from][to](dst, src, limits)
	if err != nil {
		return dst, fmt.Errorf("%s to %s: %w", from, to, err)
	}
	return out, nil
}

// Transcodes says whether Transcode has a way from one encoding to another.
func Transcodes(from, to Encoding) bool {
	return from <= maxEncoding && to <= maxEncoding && transcoders[from][to] != nil
}

func copyBody(dst, src []byte, limits Limits) ([]byte, error) {
	if limits.Size > 0 && len(src) > limits.Size {
		return dst, fmt.Errorf("%d bytes, limit is %d: %w", len(src), limits.Size, ErrTooLarge)
	}
	return append(dst, src...), nil
}

// copyJSON checks what it copies.
func copyJSON(dst, src []byte, limits Limits) ([]byte, error) {
	if err := validJSON(src, limits); err != nil {
		return dst, err
	}
	return append(dst, src...), nil
}

func validJSON(src []byte, limits Limits) error {
	return json.Valid(src, json.Limits{Size: limits.Size, LooseText: true})
}

func jsonToCBOR(dst, src []byte, limits Limits) ([]byte, error) {
	if err := validJSON(src, limits); err != nil {
		return dst, err
	}
	return appendCBOR(dst, src)
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

func jsonToYAML(dst, src []byte, limits Limits) ([]byte, error) {
	if err := validJSON(src, limits); err != nil {
		return dst, err
	}
	return yaml.AppendFromJSON(dst, src)
}

func cborToJSON(dst, src []byte, limits Limits) ([]byte, error) {
	return cbor.AppendJSON(dst, src, cbor.Limits{Size: limits.Size})
}

// chain goes by way of JSON.
func chain(first, second transcoder) transcoder {
	return func(dst, src []byte, limits Limits) ([]byte, error) {
		s := getScratch()
		defer s.put()
		var err error
		if s.b, err = first(s.b[:0], src, limits); err != nil {
			return dst, err
		}
		return second(dst, s.b, Limits{}) // JSON of a body within the limits, and made here
	}
}
