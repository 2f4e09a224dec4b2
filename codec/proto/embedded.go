package proto

import (
	"bytes"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	sjson "sluice/codec/json"
)

// cborMagic begins self-described CBOR.
const cborMagic = "\xd9\xd9\xf7"

// startsJSON reports whether a RawExtension beginning with c holds JSON.
// Source: RawExtension.guessContentType.
func startsJSON(c byte) bool {
	return bytes.IndexByte([]byte("\t\r\n {[ntf\"-0123456789"), c) >= 0
}

// startsCBOR reports whether a FieldsV1 beginning with c holds CBOR: null, a
// map or a tag. Source: FieldsV1.getContentType.
func startsCBOR(c byte) bool {
	return c == 0xf6 || c >= 0xa0 && c <= 0xbf || c >= 0xc6 && c <= 0xdb
}

// cborToJSON decodes CBOR that a client stored in a RawExtension or FieldsV1,
// and prints it as the apiserver does: by way of maps, with sorted keys. Rare:
// it takes an apiserver with CBOR switched on.
func cborToJSON(b []byte) ([]byte, error) {
	var v any
	if err := direct.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// appendEmbedded appends the JSON inside of a message as encoding/json prints the output of a
// MarshalJSON method. Errors: ErrValue, ErrTooDeep.
func appendEmbedded(dst, js []byte) ([]byte, error) {
	dst, err := sjson.AppendCompact(dst, js)
	switch {
	case err == nil:
		return dst, nil
	case errors.Is(err, sjson.ErrDepth):
		return dst, ErrTooDeep
	}
	return dst, ErrValue
}
