package codec

import (
	"sluice/codec/cbor"
	"sluice/codec/proto"
)

// appendYAML appends a JSON document as YAML.
func appendYAML(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// appendCBOR appends a JSON document as CBOR with the self-described tag.
func appendCBOR(dst, src []byte) ([]byte, error) {
	return cbor.AppendFromJSON(append(dst, cbor.SelfDescribed...), src)
}

// lookup finds the plan of a built-in kind.
func lookup(apiVersion, kind string) (plan, bool) { return proto.Lookup(apiVersion, kind) }

func yamlToJSON(dst, src []byte, limits Limits) ([]byte, error) { return dst, ErrUnsupported }
