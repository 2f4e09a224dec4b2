package proto

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated is returned when the bytes end inside a field, or when a
	// length points past the end of what holds it.
	ErrTruncated = errors.New("truncated protobuf")
	// ErrVarint is returned when a varint does not fit 64 bits.
	ErrVarint = errors.New("varint overflows 64 bits")
	// ErrTag is returned for field number zero, for numbers beyond the
	// protobuf range, and for groups, which Kubernetes does not use.
	ErrTag = errors.New("illegal field tag")
	// ErrWireType is returned when a known field has another wire type than
	// its Go type calls for.
	ErrWireType = errors.New("wrong wire type")
	// ErrMagic is returned when bytes that must be an envelope do not begin
	// with "k8s\x00".
	ErrMagic = errors.New("no kubernetes protobuf prefix")
	// ErrUnknownField is returned when bytes hold a field that the compiled-in
	// types do not have: the sender is newer. Transcoding would lose it.
	ErrUnknownField = errors.New("unknown field")
	// ErrUnknownKind is returned when there is no plan for a kind.
	ErrUnknownKind = errors.New("unknown kind")
	// ErrTooDeep is returned when messages, or JSON inside them, nest deeper
	// than maxDepth.
	ErrTooDeep = errors.New("nested too deep")
	// ErrTooLarge is returned when a length exceeds a limit.
	ErrTooLarge = errors.New("too large")
	// ErrValue is returned when a value cannot be represented: a quantity that
	// does not parse, embedded JSON that is not JSON, a NaN.
	ErrValue = errors.New("unrepresentable value")
)

// at wraps a sentinel with what was being read and the byte offset, within
// that, at which reading stopped.
func withOffset(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
