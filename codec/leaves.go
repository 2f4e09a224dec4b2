package codec

import (
	"encoding/binary"

	"sluice/codec/proto"
)

// appendYAML appends a JSON document as YAML.
func appendYAML(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// convertCBOR appends a JSON document as CBOR without the self-described tag.
func convertCBOR(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// appendCBOR appends a JSON document as CBOR with the self-described tag.
func appendCBOR(dst, src []byte) ([]byte, error) { return convertCBOR(append(dst, cborTag...), src) }

// lookup finds the plan of a built-in kind.
func lookup(apiVersion, kind string) (plan, bool) { return proto.Lookup(apiVersion, kind) }

func appendCBORHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}
