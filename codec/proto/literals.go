package proto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"sluice/codec/cbor"
)

// setLiterals prepares the output of f that does not depend on the object: its name, and its output
// when it is not on the wire. The latter comes from the apiserver's own encoders.
func (f *planField) setLiterals(tag fieldTags, t reflect.Type) error {
	zero, err := marshal(reflect.Zero(t))
	if err != nil {
		return err
	}
	js, cb := &f.out[asJSON], &f.out[asCBOR]
	if f.op == opInline {
		js.absent = inlineJSON(zero[asJSON])
		cb.absent, err = inlineCBOR(zero[asCBOR])
		return err
	}
	name, err := json.Marshal(tag.name)
	if err != nil {
		return err
	}
	js.key = "," + string(name) + ":"
	cb.key = string(cbor.AppendString(nil, tag.name))
	if !tag.omitZero && !(tag.omitEmpty && omittable(t)) {
		for e := range f.out {
			f.out[e].absent = literal{f.out[e].key + string(zero[e]), 1}
		}
	}
	if f.op == opMap {
		return f.setAbsentValue(t.Elem())
	}
	return nil
}

// setAbsentValue prepares the output for a map entry without a value. A decoder sets an empty slice
// there, not a nil one.
func (f *planField) setAbsentValue(t reflect.Type) error {
	zero := reflect.Zero(t)
	if t.Kind() == reflect.Slice {
		zero = reflect.MakeSlice(t, 0, 0)
	}
	out, err := marshal(zero)
	for e := range out {
		f.out[e].absentValue = string(out[e])
	}
	return err
}

// marshal encodes a zero value in each notation.
func marshal(zero reflect.Value) (out [2][]byte, err error) {
	if out[asJSON], err = json.Marshal(zero.Interface()); err == nil {
		out[asCBOR], err = direct.Marshal(zero.Interface())
	}
	if err != nil {
		return out, fmt.Errorf("zero value: %w", err)
	}
	return out, nil
}

// omittable reports whether omitempty omits the zero value of type t, as it does for all types
// except structs.
func omittable(t reflect.Type) bool {
	return t.Kind() != reflect.Struct
}

// inlineJSON returns the members of an object. In JSON nothing needs their number.
func inlineJSON(object []byte) literal {
	members := bytes.TrimSuffix(bytes.TrimPrefix(object, []byte("{")), []byte("}"))
	if len(members) == 0 {
		return literal{}
	}
	return literal{text: "," + string(members)}
}

// inlineCBOR returns the members of a map of at most 23 of them.
func inlineCBOR(object []byte) (literal, error) {
	if len(object) == 0 || cbor.Major(object[0]&^31) != cbor.Map || object[0]&31 > maxTiny {
		return literal{}, fmt.Errorf("inlined zero value %x: %w", object, errSchema)
	}
	return literal{string(object[1:]), int(object[0] & 31)}, nil
}
