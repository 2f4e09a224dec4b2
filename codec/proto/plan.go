package proto

import (
	"math/bits"
	"reflect"
)

// An op is the way in which one value on the wire is printed.
type op uint8

const (
	opString op = iota
	opBytes
	opBool
	opInt32
	opInt64
	opFloat64
	opMessage
	opInline     // a message whose fields are printed as fields of its parent
	opStringList // a message {1: repeated string} whose Go type is a slice, such as metav1.Verbs

	// Types with their own MarshalJSON, see custom_types.go.
	opTime
	opMicroTime
	opQuantity
	opIntOrString
	opRawExtension
	opFieldsV1
	opSchemaJSON
	opSchemaOrBool
	opSchemaOrArray
	opSchemaOrStrings

	// Slices and maps: the op of the elements is in planField.elem.
	opRepeated
	opMap
)

// wireType returns the wire type of a value with this op.
func (o op) wireType() uint8 {
	switch o {
	case opBool, opInt32, opInt64:
		return wireVarint
	case opFloat64:
		return wireFixed64
	}
	return wireBytes
}

// A plan is the compiled schema of one message type. It is immutable once compiled.
type plan struct {
	typ    reflect.Type
	name   string      // of the Go type, for errors: v1.PodSpec
	fields []planField // in struct order, which is the order of the output
	wire   []wireField // indexed by field number

	printed           set // fields that have a JSON name
	printedWhenAbsent set // fields that are printed even if they are not on the wire
	dropped           set // fields that a projection leaves out
}

// maxFields is the number of bits in a set. The largest message type has 44 fields.
const maxFields = 64

// A wireField describes one field number.
type wireField struct {
	known    bool
	repeated bool  // a slice or a map
	opaque   bool  // strings or bytes: every payload is valid
	skipZero bool  // a scalar with omitempty: a zero on the wire counts as absent
	typ      uint8 // the only wire type that is valid, packed numbers aside
	field    uint8 // index into plan.fields
}

// A planField describes how one field is printed.
type planField struct {
	op   op
	elem op // of opRepeated and opMap: the op of an element or of a map value

	omitEmpty bool // omit a zero scalar even if it is on the wire
	omitZero  bool // omit a zero time even if it is on the wire

	num int         // field number; 0 if the field is not on the wire
	sub *plan       // of messages, also as elements and map values
	out [2]literals // by notation

	partial   bool            // a projection leaves out a part of the value
	keys      map[string]bool // of opMap: the keys that it names; nil for none
	keepsKeys bool            // it keeps these keys, instead of leaving them out

	tagBytes uint16 // the tag of a length-delimited field, as two bytes little-endian
	tagLen   uint8  // the number of these bytes in use: 1 or 2
}

// literals are the parts of the output of a field that do not depend on the object, in one
// notation.
type literals struct {
	key         string  // the name with the separators around it
	absent      literal // key and value of a field that is not on the wire; empty if it is omitted
	absentValue string  // of a map: the value of an entry that has none on the wire
}

// A literal is the text of some members, in JSON each after a comma.
type literal struct {
	text    string
	members int
}

// A set is a set of indexes into plan.fields.
type set uint64

// has reports whether i is in the set.
func (s set) has(i uint8) bool { return s>>(i&63)&1 != 0 }

// add adds i.
func (s *set) add(i uint8) { *s |= 1 << (i & 63) }

// pop removes the lowest index from a set that is not empty, and returns it.
func (s *set) pop() uint8 {
	i := bits.TrailingZeros64(uint64(*s))
	*s &= *s - 1
	return uint8(i)
}
