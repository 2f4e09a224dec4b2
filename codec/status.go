package codec

import (
	"strconv"

	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/codec/yaml"
)

// Status is an error as the apiserver tells it to a client: kind Status, apiVersion v1, status Failure. Its JSON is
//
//	{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":…,"reason":…,"details":{…},"code":…}
//
// with empty members left out, except that Details, if set, is printed even when empty (wire.md 1.3, 10).
type Status struct {
	Metadata ListMeta
	Message  string
	Reason   string
	Details  *Details
	Code     int // the HTTP status too
}

// Details says what a Status is about.
type Details struct {
	Name, Group, Kind, UID string
	Causes                 []Cause
	RetryAfterSeconds      int // seconds; if above zero the response carries it as Retry-After
}

// Cause is one of several reasons of a Status.
type Cause struct {
	Reason, Message, Field string
}

// Error returns the message.
func (s *Status) Error() string { return s.Message }

// RetryAfter returns the seconds for the Retry-After header, zero for none.
func (s *Status) RetryAfter() int {
	if s.Details == nil {
		return 0
	}
	return s.Details.RetryAfterSeconds
}

// Append appends the whole body of a response: compact JSON with a newline or indented JSON without one, YAML, an
// enveloped Protobuf message, or tagged CBOR. Only Encoding and Pretty of f count.
func (s *Status) Append(dst []byte, f Format) []byte {
	if f.Encoding != JSON {
		return s.appendObject(dst, f.Encoding)
	}
	if f.Pretty {
		return appendIndented(dst, s.appendJSON(nil), 0)
	}
	return append(s.appendJSON(dst), '\n')
}

// appendObject appends the Status as it stands inside an event: JSON without newline, otherwise the same as a body.
func (s *Status) appendObject(dst []byte, e Encoding) []byte {
	switch e {
	case Protobuf:
		return proto.AppendEnvelope(dst, "v1", "Status", s.appendProto(nil))
	case YAML:
		return appendKnown(dst, s.appendJSON(nil), yaml.AppendFromJSON)
	case CBOR:
		return appendKnown(dst, s.appendJSON(nil), appendCBOR)
	}
	return s.appendJSON(dst)
}

// appendKnown converts JSON that this package wrote itself, so that the conversion cannot fail.
func appendKnown(dst, src []byte, convert func(dst, src []byte) ([]byte, error)) []byte {
	if out, err := convert(dst, src); err == nil {
		return out
	}
	return dst
}

func (s *Status) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"kind":"Status","apiVersion":"v1","metadata":`...)
	dst = s.Metadata.appendJSON(dst, Typed)
	dst = append(dst, `,"status":"Failure"`...)
	dst = appendMember(dst, "message", s.Message)
	dst = appendMember(dst, "reason", s.Reason)
	if s.Details != nil {
		dst = append(dst, `,"details":`...)
		dst = s.Details.appendJSON(dst)
	}
	dst = appendIntMember(dst, "code", s.Code)
	return append(dst, '}')
}

func (d *Details) appendJSON(dst []byte) []byte {
	open := len(dst)
	dst = appendMember(dst, "name", d.Name)
	dst = appendMember(dst, "group", d.Group)
	dst = appendMember(dst, "kind", d.Kind)
	dst = appendMember(dst, "uid", d.UID)
	if len(d.Causes) > 0 {
		dst = append(dst, `,"causes":`...)
		list := len(dst)
		for _, c := range d.Causes {
			dst = append(dst, ',')
			dst = c.appendJSON(dst)
		}
		dst[list] = '['
		dst = append(dst, ']')
	}
	dst = appendIntMember(dst, "retryAfterSeconds", d.RetryAfterSeconds)
	return closeObject(dst, open)
}

func (c Cause) appendJSON(dst []byte) []byte {
	open := len(dst)
	dst = appendMember(dst, "reason", c.Reason)
	dst = appendMember(dst, "message", c.Message)
	dst = appendMember(dst, "field", c.Field)
	return closeObject(dst, open)
}

// appendMember appends `,"name":"value"`, or nothing for an empty value. The first member's comma becomes the brace:
// see closeObject.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return json.AppendString(dst, value)
}

func appendIntMember(dst []byte, name string, value int) []byte {
	if value == 0 {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return strconv.AppendInt(dst, int64(value), 10)
}

// closeObject makes an object of the members appended since open.
func closeObject(dst []byte, open int) []byte {
	if len(dst) == open {
		return append(dst, "{}"...)
	}
	dst[open] = '{'
	return append(dst, '}')
}
