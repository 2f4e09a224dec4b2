package proto

import (
	"math/bits"
	"reflect"
)

// An op says how one value on the wire becomes a value in the output.
type op uint8

const (
	opString op = iota
	opBytes
	opBool
	opInt32
	opInt64
	opUint32
	opUint64
	opFloat64
	opMessage
	opInline // a message whose fields appear among those of its parent
	opNames  // a message {1: repeated string} whose Go type is a slice

	// Types with a form of their own, see special.go.
	opTime
	opMicroTime
	opDuration
	opQuantity
	opIntOrString
	opRawExtension
	opFieldsV1
	opSchemaJSON
	opSchemaOrBool
	opSchemaOrArray
	opSchemaOrStrings

	// How often. The element's op is in planField.elem.
	opRepeated
	opMap
)

// wireType is the wire type of a value with this op.
func (o op) wireType() uint8 {
	switch o {
	case opBool, opInt32, opInt64, opUint32, opUint64:
		return wireVarint
	case opFloat64:
		return wireFixed64
	}
	return wireBytes
}

// A plan says how one message type is printed. It is immutable once compiled.
type plan struct {
	typ    reflect.Type
	name   string      // of the Go type, for errors: v1.PodSpec
	fields []planField // in struct order, which is that of the output
	wire   []wireField // by field number
	shown  set         // fields that are printed when they are on the wire
	always set         // fields that are printed when they are not
}

// maxFields is the most fields that a message type may have: a set has so many
// bits. The largest has 44.
const maxFields = 64

// A wireField says what a field number stands for.
type wireField struct {
	known  bool
	many   bool  // repeated or a map
	leaf   bool  // text or bytes, maybe repeated: whatever it holds is fine
	sparse bool  // a scalar that is left out when zero, as most are that are on the wire
	typ    uint8 // the wire type it must have
	field  uint8 // index into plan.fields
}

// A planField says how one field is printed.
type planField struct {
	op   op
	elem op // of opRepeated and opMap: the op of an element, or of a map value

	omitEmpty bool // leave out zero scalars, though they are on the wire
	omitZero  bool // leave out a zero time, though it is on the wire

	num  int    // field number; 0 if not on the wire
	head uint16 // its tag, if length-delimited, as two bytes little-endian
	tag  uint8  // how many of these it has
	sub  *plan  // of messages, also as elements and map values
	json text   // for JSON
	cbor text   // for CBOR
}

// text is what of a field is known beforehand, in one encoding.
type text struct {
	key   string // separator, name and what parts it from the value
	zero  string // key and value when the field is not on the wire; may be empty
	value string // of a map: what stands for a value that is not on the wire
	pairs int    // of zero: how many members it has
}

// A set holds fields of a plan, by index.
type set uint64

// has reports whether i is in the set.
func (s set) has(i uint8) bool { return s>>(i&63)&1 != 0 }

// add adds i.
func (s *set) add(i uint8) { *s |= 1 << (i & 63) }

// pop takes the lowest index out of a set that is not empty.
func (s *set) pop() uint8 {
	i := bits.TrailingZeros64(uint64(*s))
	*s &= *s - 1
	return uint8(i)
}
