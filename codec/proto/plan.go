package proto

import "reflect"

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
	fields []planField // in the order of the output
	wire   []wireField // by field number; a zero entry is unknown
	slots  int         // number of spans that the index of such a message has
}

// A wireField says what a field number stands for.
type wireField struct {
	slot  uint8 // where its span goes; 0 is none
	typ   uint8 // the wire type it must have
	many  bool  // repeated or a map
	field int16 // index into plan.fields; -1 if not printed
}

// A planField says how one field is printed.
type planField struct {
	op   op
	elem op    // of opRepeated and opMap: the op of an element, or of a map value
	slot uint8 // of the span; 0, which is never filled, if not on the wire

	omitEmpty bool // leave out zero scalars, though they are on the wire
	omitZero  bool // leave out a zero time, though it is on the wire

	num  int   // field number
	sub  *plan // of messages, also as elements and map values
	json text  // for JSON
	cbor text  // for CBOR
}

// text is what of a field is known beforehand, in one encoding.
type text struct {
	key   string // separator, name and what parts it from the value
	zero  string // key and value when the field is not on the wire; may be empty
	value string // of a map: what stands for a value that is not on the wire
	pairs int    // of zero: how many members it has
}
