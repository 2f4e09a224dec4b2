package proto

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errSchema is returned for a Go type whose structure the compiler does not support. A test proves
// that every compiled-in kind is supported.
var errSchema = errors.New("unsupported schema")

var (
	typeMetaType      = reflect.TypeFor[metav1.TypeMeta]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshalerType   = reflect.TypeFor[interface{ Unmarshal([]byte) error }]()
)

// maxNumber bounds the field numbers of a message: plan.wire is indexed by them.
const maxNumber = 1000

// A compiler turns Go types into plans, each once.
type compiler map[reflect.Type]*plan

// compile returns the plan of a struct type. It registers the plan before it looks at the fields,
// so that types may contain themselves.
func (c compiler) compile(t reflect.Type) (*plan, error) {
	if p, ok := c[t]; ok {
		return p, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is no struct: %w", t, errSchema)
	}
	p := &plan{typ: t, name: t.String()}
	c[t] = p
	return p, c.addFields(p)
}

// addFields compiles the fields of p's type.
func (c compiler) addFields(p *plan) error {
	for i := range p.typ.NumField() {
		sf := p.typ.Field(i)
		if err := c.add(p, sf); err != nil {
			return fmt.Errorf("%v.%s: %w", p.typ, sf.Name, err)
		}
	}
	return nil
}

// add compiles one struct field into p.
func (c compiler) add(p *plan, sf reflect.StructField) error {
	if sf.Type == typeMetaType && sf.Anonymous {
		return nil // not on the wire: Schema holds it
	}
	tag, err := parseTags(sf)
	if err != nil {
		return err
	}
	if tag.num == 0 && tag.name == "" {
		return nil
	}
	f := planField{num: tag.num, omitEmpty: tag.omitEmpty, omitZero: tag.omitZero}
	if err := c.setOp(&f, sf.Type); err != nil {
		return err
	}
	if v, ok := nestedObjects[structField{p.typ, sf.Name}]; ok {
		if f.sub, err = c.compileObject(f.sub.typ, v); err != nil {
			return err
		}
	}
	if tag.inline {
		if f.op != opMessage {
			return fmt.Errorf("inlined %v: %w", sf.Type, errSchema)
		}
		f.op = opInline
	}
	if f.omitZero && f.op != opTime {
		return fmt.Errorf("omitzero on %v: %w", sf.Type, errSchema)
	}
	if sf.Type.Kind() == reflect.Pointer {
		f.omitEmpty = false // a pointer that is on the wire is not nil
	}
	if tag.name != "" || tag.inline {
		if err := f.setLiterals(tag, sf.Type); err != nil {
			return err
		}
	}
	return p.addField(f, tag.name != "" || tag.inline)
}

// addField adds f to the plan. A field that is not printed, with the tag json:"-", is known
// nevertheless.
func (p *plan) addField(f planField, printed bool) error {
	n := len(p.fields)
	if n == maxFields {
		return fmt.Errorf("more than %d fields: %w", n, errSchema)
	}
	if printed {
		p.printed.add(uint8(n))
	}
	if f.out[asJSON].absent.text != "" {
		p.printedWhenAbsent.add(uint8(n))
	}
	f.setTag()
	p.fields = append(p.fields, f)
	if f.num == 0 {
		return nil
	}
	if f.num > maxNumber {
		return fmt.Errorf("field number %d: %w", f.num, errSchema)
	}
	for len(p.wire) <= f.num {
		p.wire = append(p.wire, wireField{})
	}
	if p.wire[f.num].known {
		return fmt.Errorf("field number %d twice: %w", f.num, errSchema)
	}
	w := wireField{known: true, field: uint8(n), typ: f.op.wireType(), repeated: f.op == opRepeated || f.op == opMap}
	if f.op == opRepeated {
		w.typ = f.elem.wireType()
	}
	leaf := f.op
	if f.op == opRepeated {
		leaf = f.elem
	}
	w.opaque = leaf == opString || leaf == opBytes
	w.skipZero = f.omitEmpty && f.op <= opInt64
	p.wire[f.num] = w
	return nil
}

// setTag sets the tag of f that nextElement compares with. Field numbers up to maxNumber fit two
// bytes.
func (f *planField) setTag() {
	tag := append(protowire.AppendTag(nil, protowire.Number(f.num), protowire.BytesType), 0)
	f.tagBytes, f.tagLen = binary.LittleEndian.Uint16(tag), uint8(len(tag)-1)
}

// setOp sets the ops of f for values of type t.
func (c compiler) setOp(f *planField, t reflect.Type) (err error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if o, ok := c.singleOp(t); ok {
		f.op = o
		return c.compileSub(f, o, t)
	}
	switch {
	case t.Kind() == reflect.Slice:
		f.op = opRepeated
		f.elem, err = c.elementOp(f, t.Elem())
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && !hasCustomMarshaler(t.Key()):
		f.op = opMap
		if f.elem, err = c.elementOp(f, t.Elem()); err == nil && f.elem.wireType() != wireBytes {
			err = fmt.Errorf("map of %v: %w", t.Elem(), errSchema)
		}
	default:
		err = fmt.Errorf("%v: %w", t, errSchema)
	}
	return err
}

// elementOp returns the op for an element of a slice or a value of a map.
func (c compiler) elementOp(f *planField, t reflect.Type) (op, error) {
	o, ok := c.singleOp(t)
	if !ok {
		return 0, fmt.Errorf("element %v: %w", t, errSchema)
	}
	return o, c.compileSub(f, o, t)
}

// singleOp returns the op of a type that is neither a map nor a slice, []byte and message types
// aside.
func (c compiler) singleOp(t reflect.Type) (op, bool) {
	if o, ok := customTypes[t]; ok {
		return o, true
	}
	if hasCustomMarshaler(t) {
		return 0, false
	}
	switch t.Kind() {
	case reflect.String:
		return opString, true
	case reflect.Bool:
		return opBool, true
	case reflect.Int32:
		return opInt32, true
	case reflect.Int64:
		return opInt64, true
	case reflect.Float64:
		return opFloat64, true
	case reflect.Struct:
		return opMessage, true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return opBytes, true
		}
		// A slice type that is a message of its own, such as metav1.Verbs.
		named := t.Elem().Kind() == reflect.String && reflect.PointerTo(t).Implements(unmarshalerType)
		return opStringList, named
	}
	return 0, false
}

// hasCustomMarshaler reports whether encoding/json calls a method of the type to print it.
func hasCustomMarshaler(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshalerType) || p.Implements(textMarshalerType)
}

// compileSub compiles the message type that an op refers to, if any.
func (c compiler) compileSub(f *planField, o op, t reflect.Type) (err error) {
	switch o {
	case opMessage, opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		f.sub, err = c.compile(t)
	}
	return err
}

// fieldTags are the struct tags of one field.
type fieldTags struct {
	num       int    // field number; 0 if the field is not on the wire
	name      string // JSON name; empty if the field is inlined or not printed
	inline    bool
	omitEmpty bool
	omitZero  bool
}

// parseTags reads the struct tags as encoding/json and the gogo protobuf generator do.
func parseTags(sf reflect.StructField) (t fieldTags, err error) {
	if wire := sf.Tag.Get("protobuf"); wire != "" && wire != "-" {
		parts := strings.Split(wire, ",")
		if len(parts) < 2 {
			return t, fmt.Errorf("tag %q: %w", wire, errSchema)
		}
		if t.num, err = strconv.Atoi(parts[1]); err != nil {
			return t, fmt.Errorf("tag %q: %w", wire, errSchema)
		}
	}
	js := sf.Tag.Get("json")
	if js == "-" || !sf.IsExported() {
		return t, nil
	}
	name, options, _ := strings.Cut(js, ",")
	for o := range strings.SplitSeq(options, ",") {
		t.omitEmpty = t.omitEmpty || o == "omitempty"
		t.omitZero = t.omitZero || o == "omitzero"
		if o == "string" {
			return t, fmt.Errorf("option string: %w", errSchema)
		}
	}
	switch {
	case name != "":
		t.name = name
	case sf.Anonymous && sf.Type.Kind() == reflect.Struct:
		t.inline = true
	default:
		t.name = sf.Name
	}
	return t, nil
}
