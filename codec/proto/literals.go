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
	zero := reflect.Zero(t).Interface()
	js, err := json.Marshal(zero)
	if err != nil {
		return fmt.Errorf("zero value: %w", err)
	}
	cb, err := direct.Marshal(zero)
	if err != nil {
		return fmt.Errorf("zero value: %w", err)
	}
	if f.op == opInline {
		f.json.absent = inlineJSON(js)
		f.cbor.absent, f.cbor.absentPairs, err = inlineCBOR(cb)
		return err
	}
	name, err := json.Marshal(tag.name)
	if err != nil {
		return err
	}
	f.json.key = "," + string(name) + ":"
	f.cbor.key = string(cbor.AppendString(nil, tag.name))
	if !tag.omitZero && !(tag.omitEmpty && omittable(t)) {
		f.json.absent = f.json.key + string(js)
		f.cbor.absent, f.cbor.absentPairs = f.cbor.key+string(cb), 1
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
	js, err := json.Marshal(zero.Interface())
	if err != nil {
		return fmt.Errorf("zero map value: %w", err)
	}
	cb, err := direct.Marshal(zero.Interface())
	if err != nil {
		return fmt.Errorf("zero map value: %w", err)
	}
	f.json.absentValue, f.cbor.absentValue = string(js), string(cb)
	return nil
}

// omittable reports whether omitempty omits the zero value of type t, as it does for all types
// except structs.
func omittable(t reflect.Type) bool {
	return t.Kind() != reflect.Struct
}

// inlineJSON returns the members of an object, each preceded by a comma.
func inlineJSON(object []byte) string {
	members := bytes.TrimSuffix(bytes.TrimPrefix(object, []byte("{")), []byte("}"))
	if len(members) == 0 {
		return ""
	}
	return "," + string(members)
}

// inlineCBOR returns the pairs of a map of at most 23 pairs, and their number.
func inlineCBOR(object []byte) (pairs string, n int, err error) {
	if len(object) == 0 || cbor.Major(object[0]&^31) != cbor.Map || object[0]&31 > maxTiny {
		return "", 0, fmt.Errorf("inlined zero value %x: %w", object, errSchema)
	}
	return string(object[1:]), int(object[0] & 31), nil
}
