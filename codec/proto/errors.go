package proto

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated is returned if the bytes end inside a field, or if a length exceeds the bytes
	// that are left in the message.
	ErrTruncated = errors.New("truncated protobuf")
	// ErrVarint is returned for a varint of more than 64 bits.
	ErrVarint = errors.New("varint overflows 64 bits")
	// ErrTag is returned for field number zero, for field numbers beyond the protobuf range, and
	// for groups, which Kubernetes does not use.
	ErrTag = errors.New("illegal field tag")
	// ErrWireType is returned if the wire type of a known field does not match its Go type.
	ErrWireType = errors.New("wrong wire type")
	// ErrMagic is returned if bytes that must be an envelope do not begin with "k8s\x00".
	ErrMagic = errors.New("no kubernetes protobuf prefix")
	// ErrUnknownField is returned for a field that the compiled-in types do not have: the sender is
	// newer, and transcoding would lose the field.
	ErrUnknownField = errors.New("unknown field")
	// ErrTooDeep is returned for messages, and JSON inside them, that nest deeper than maxDepth.
	ErrTooDeep = errors.New("nested too deep")
	// ErrForm is returned for a form that protobuf allows and no apiserver writes: a message in several parts, packed
	// numbers, a map whose keys do not ascend.
	ErrForm = errors.New("unusual form")
	// ErrTooLarge is returned for objects of more than 2 GiB.
	ErrTooLarge = errors.New("too large")
	// ErrValue is returned for a value that cannot be printed: a quantity that does not parse,
	// embedded JSON that is not JSON, a NaN.
	ErrValue = errors.New("unrepresentable value")
)

// in wraps an error with the name of the message in which it was found.
func in(err error, message string) error { return fmt.Errorf("%s: %w", message, err) }

// error wraps an error with the type of the message.
func (p *plan) error(err error) error { return in(err, p.name) }

// fieldError wraps an error with the type of the message and the field number.
func (p *plan) fieldError(err error, num int) error {
	return fmt.Errorf("%s field %d: %w", p.name, num, err)
}
