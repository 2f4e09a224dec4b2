package proto

import "bytes"

// magic is the prefix of every enveloped object. Source: apimachinery's
// runtime/serializer/protobuf.
const magic = "k8s\x00"

// Field numbers of runtime.Unknown and of the TypeMeta in it.
const (
	unknownTypeMeta = 1
	unknownRaw      = 2

	typeMetaAPIVersion = 1
	typeMetaKind       = 2
)

// allBytes are wire types of fields that are all text, bytes or messages.
var allBytes = []uint8{wireBytes, wireBytes, wireBytes, wireBytes}

// parsePair parses a message with two fields of text or bytes: a TypeMeta, an entry of a map, or a
// WatchEvent. Unknown fields are ignored.
func parsePair(b []byte) (first, second []byte, err error) {
	err = walk(b, allBytes[:2], false, func(f field, v []byte) {
		if f.num == 1 {
			first = v
		} else {
			second = v
		}
	})
	return first, second, err
}

// envelopeTail follows the raw message: contentEncoding and contentType, which are always written
// and always empty.
const envelopeTail = "\x1a\x00\x22\x00"

// Unknown is the content of an envelope, a runtime.Unknown. All fields alias the parsed bytes.
type Unknown struct {
	APIVersion, Kind []byte
	Raw              []byte // the message, of type APIVersion and Kind
}

// ParseEnvelope parses an envelope: "k8s\0" and a runtime.Unknown message. Unknown fields are
// ignored, as apimachinery's decoders do. Errors: ErrMagic, ErrTruncated, ErrVarint, ErrTag,
// ErrWireType.
func ParseEnvelope(b []byte) (Unknown, error) {
	var u Unknown
	if !bytes.HasPrefix(b, []byte(magic)) {
		return u, in(ErrMagic, "envelope")
	}
	var typeMeta []byte
	err := walk(b[len(magic):], allBytes, false, func(f field, v []byte) {
		switch f.num {
		case unknownTypeMeta:
			typeMeta = v
		case unknownRaw:
			u.Raw = v
		}
	})
	if err != nil {
		return Unknown{}, in(err, "envelope")
	}
	if u.APIVersion, u.Kind, err = parsePair(typeMeta); err != nil {
		return Unknown{}, in(err, "envelope")
	}
	return u, nil
}

// envelopeSize returns the length of an envelope around a message of rawSize bytes.
func envelopeSize(apiVersion, kind string, rawSize int) int {
	typeMeta := bytesSize(len(apiVersion)) + bytesSize(len(kind))
	return len(magic) + bytesSize(typeMeta) + bytesSize(rawSize) + len(envelopeTail)
}

// AppendEnvelopeHead appends the part of an envelope before a message of rawSize bytes. The message
// and AppendEnvelopeTail must follow.
func AppendEnvelopeHead(dst []byte, apiVersion, kind string, rawSize int) []byte {
	dst = append(dst, magic...)
	dst = appendHead(dst, unknownTypeMeta, bytesSize(len(apiVersion))+bytesSize(len(kind)))
	dst = appendBytes(dst, typeMetaAPIVersion, apiVersion)
	dst = appendBytes(dst, typeMetaKind, kind)
	return appendHead(dst, unknownRaw, rawSize)
}

// AppendEnvelopeTail appends the part of an envelope after the message.
func AppendEnvelopeTail(dst []byte) []byte {
	return append(dst, envelopeTail...)
}

// AppendEnvelope appends raw in its envelope, byte for byte as the apiserver writes it.
func AppendEnvelope(dst []byte, apiVersion, kind string, raw []byte) []byte {
	dst = AppendEnvelopeHead(dst, apiVersion, kind, len(raw))
	return AppendEnvelopeTail(append(dst, raw...))
}
