package proto

// magic is the prefix of every enveloped object. Source: apimachinery's
// runtime/serializer/protobuf.
const magic = "k8s\x00"

// Field numbers of runtime.Unknown and of the TypeMeta in it.
const (
	unknownTypeMeta        = 1
	unknownRaw             = 2
	unknownContentEncoding = 3
	unknownContentType     = 4

	typeMetaAPIVersion = 1
	typeMetaKind       = 2
)

// envelopeTail follows the raw message: contentEncoding and contentType, which are always written
// and always empty.
const envelopeTail = "\x1a\x00\x22\x00"

// Unknown is the content of an envelope, a runtime.Unknown. All fields alias the parsed bytes.
type Unknown struct {
	APIVersion, Kind             []byte
	Raw                          []byte // the message, of type APIVersion and Kind
	ContentEncoding, ContentType []byte // the apiserver leaves both empty
}

// isEnvelope reports whether b begins with the prefix of an envelope.
func isEnvelope(b []byte) bool {
	return len(b) >= len(magic) && string(b[:len(magic)]) == magic
}

// ParseEnvelope parses an envelope: "k8s\0" and a runtime.Unknown message. Unknown fields are
// ignored, as apimachinery's decoders do. Errors: ErrMagic, ErrTruncated, ErrVarint, ErrTag,
// ErrWireType.
func ParseEnvelope(b []byte) (Unknown, error) {
	var u Unknown
	if !isEnvelope(b) {
		return u, withOffset(ErrMagic, "envelope", 0)
	}
	for i := len(magic); i < len(b); {
		f, err := readField(b, i)
		if err == nil {
			err = u.set(f, b[f.start:f.end])
		}
		if err != nil {
			return Unknown{}, withOffset(err, "envelope", i)
		}
		i = f.end
	}
	return u, nil
}

// set stores one field of the envelope.
func (u *Unknown) set(f field, payload []byte) error {
	if f.num <= unknownContentType && f.typ != wireBytes {
		return ErrWireType
	}
	switch f.num {
	case unknownTypeMeta:
		return u.setTypeMeta(payload)
	case unknownRaw:
		u.Raw = payload
	case unknownContentEncoding:
		u.ContentEncoding = payload
	case unknownContentType:
		u.ContentType = payload
	}
	return nil
}

// setTypeMeta stores runtime.TypeMeta{1: apiVersion, 2: kind}.
func (u *Unknown) setTypeMeta(b []byte) error {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return withOffset(err, "TypeMeta", i)
		case f.num > typeMetaKind:
		case f.typ != wireBytes:
			return withOffset(ErrWireType, "TypeMeta", i)
		case f.num == typeMetaAPIVersion:
			u.APIVersion = b[f.start:f.end]
		default:
			u.Kind = b[f.start:f.end]
		}
		i = f.end
	}
	return nil
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
