package codec

import (
	"fmt"

	"sluice/codec/cbor"
	"sluice/codec/yaml"
)

// AppendFromJSON appends src, one well-formed JSON value, as a whole body in another encoding: CBOR
// with its tag, YAML with sorted keys, JSON as it is. Protobuf needs the Go type of the object, so
// it is refused with ErrUnsupported. On an error dst comes back as long as it was.
func AppendFromJSON(dst, src []byte, to Encoding) ([]byte, error) {
	var err error
	base := len(dst)
	switch to {
	case JSON:
		return append(dst, src...), nil
	case YAML:
		dst, err = yaml.AppendFromJSON(dst, src)
	case CBOR:
		dst, err = cbor.AppendFromJSON(append(dst, cbor.SelfDescribed...), src)
	default:
		err = ErrUnsupported
	}
	if err != nil {
		return dst[:base], fmt.Errorf("json to %s: %w", to, err)
	}
	return dst, nil
}
