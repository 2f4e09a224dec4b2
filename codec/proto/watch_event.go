package proto

import (
	"encoding/binary"
	"fmt"
)

// framePrefix is the length of a frame's prefix: the size of the rest as four bytes, big-endian.
const framePrefix = 4

// Field numbers of metav1.WatchEvent and of the RawExtension in it.
const (
	eventType   = 1
	eventObject = 2

	extensionRaw = 1
)

// ParseEvent parses the body of a watch frame, without its four bytes of length: a
// metav1.WatchEvent. It returns the event type, such as ADDED, and the enveloped object; both alias
// b. Unknown fields are ignored. It returns the errors of ParseEnvelope.
func ParseEvent(b []byte) (typ, object []byte, err error) {
	typ, extension, err := parsePair(b)
	if err == nil {
		err = walk(extension, allBytes[:extensionRaw], false, func(_ field, v []byte) { object = v })
	}
	if err != nil {
		return nil, nil, fmt.Errorf("watch event: %w", err)
	}
	return typ, object, nil
}

// eventSize returns the length of a watch frame, prefix included, for an enveloped object of
// objectSize bytes.
func eventSize(typ string, objectSize int) int {
	return framePrefix + bytesSize(len(typ)) + bytesSize(bytesSize(objectSize))
}

// appendFrameHead appends the part of a frame before an enveloped object of size bytes.
func appendFrameHead(dst []byte, typ string, size int) []byte {
	body := eventSize(typ, size) - framePrefix
	dst = binary.BigEndian.AppendUint32(dst, uint32(body))
	dst = appendBytes(dst, eventType, typ)
	dst = appendHead(dst, eventObject, bytesSize(size))
	return appendHead(dst, extensionRaw, size)
}

// AppendEvent appends a watch frame, four bytes of length and a WatchEvent, with a raw message in
// its envelope.
func AppendEvent(dst []byte, typ, apiVersion, kind string, raw []byte) []byte {
	dst = appendFrameHead(dst, typ, envelopeSize(apiVersion, kind, len(raw)))
	return AppendEnvelope(dst, apiVersion, kind, raw)
}
