package codec

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// appendProto appends the Status message without envelope. Strings and numbers are written even when empty, as the
// apiserver's generated code does (wire.md 2).
func (s *Status) appendProto(dst []byte) []byte {
	dst = s.Metadata.appendProto(dst, 1)
	dst = appendStringField(dst, 2, "Failure")
	dst = appendStringField(dst, 3, s.Message)
	dst = appendStringField(dst, 4, s.Reason)
	if s.Details != nil {
		dst = appendBytesField(dst, 5, s.Details.appendProto(nil))
	}
	return appendIntField(dst, 6, int64(s.Code))
}

func (d *Details) appendProto(dst []byte) []byte {
	dst = appendStringField(dst, 1, d.Name)
	dst = appendStringField(dst, 2, d.Group)
	dst = appendStringField(dst, 3, d.Kind)
	for _, c := range d.Causes {
		dst = appendBytesField(dst, 4, c.appendProto(nil))
	}
	dst = appendIntField(dst, 5, int64(d.RetryAfterSeconds))
	return appendStringField(dst, 6, d.UID)
}

func (c Cause) appendProto(dst []byte) []byte {
	dst = appendStringField(dst, 1, c.Reason)
	dst = appendStringField(dst, 2, c.Message)
	return appendStringField(dst, 3, c.Field)
}

func appendStringField(dst []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, num, protowire.BytesType), s)
}

func appendBytesField(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

func appendIntField(dst []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), uint64(n))
}
