package codec

// appendYAML appends a JSON document as YAML.
func appendYAML(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// appendCBOR appends a JSON document as CBOR with the self-described tag.
func appendCBOR(dst, src []byte) ([]byte, error) { return dst, ErrUnsupported }

// appendEnvelope appends a Protobuf object with its magic and envelope.
func appendEnvelope(dst []byte, apiVersion, kind string, raw []byte) []byte {
	meta := appendStringField(appendStringField(nil, 1, apiVersion), 2, kind)
	dst = append(dst, "k8s\x00"...)
	dst = appendBytesField(dst, 1, meta)
	dst = appendBytesField(dst, 2, raw)
	return append(dst, 0x1a, 0, 0x22, 0)
}
