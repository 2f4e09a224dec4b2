package codec

import "sluice/codec/cbor"

// appendYAML appends a JSON document as YAML.
func appendYAML(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// appendCBOR appends a JSON document as CBOR with the self-described tag.
func appendCBOR(dst, src []byte) ([]byte, error) {
	return cbor.AppendFromJSON(append(dst, cbor.SelfDescribed...), src)
}

func yamlToJSON(dst, src []byte, limits Limits) ([]byte, error) { return dst, ErrUnsupported }
