package proto

import (
	"errors"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	sjson "sluice/codec/json"
)

// customTypes are the types with their own MarshalJSON that this package implements. The compiler
// rejects every other type with one.
var customTypes = map[reflect.Type]op{
	reflect.TypeFor[metav1.Time]():          opTime,
	reflect.TypeFor[metav1.MicroTime]():     opMicroTime,
	reflect.TypeFor[metav1.FieldsV1]():      opFieldsV1,
	reflect.TypeFor[resource.Quantity]():    opQuantity,
	reflect.TypeFor[intstr.IntOrString]():   opIntOrString,
	reflect.TypeFor[runtime.RawExtension](): opRawExtension,

	reflect.TypeFor[apiextensionsv1.JSON]():                              opSchemaJSON,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():             opSchemaOrBool,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():            opSchemaOrArray,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():      opSchemaOrStrings,
	reflect.TypeFor[apiextensionsv1beta1.JSON]():                         opSchemaJSON,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        opSchemaOrBool,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       opSchemaOrArray,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): opSchemaOrStrings,
}

// The wire types of messages: numbers only, and intstr.IntOrString.
var (
	allVarints       = []uint8{wireVarint, wireVarint}
	intOrStringTypes = []uint8{wireVarint, wireVarint, wireBytes}
)

// readSingleString reads a message whose only field is a string or bytes with number 1, and reports
// whether the field is present. The last occurrence counts.
func (p *plan) readSingleString(b []byte) (s []byte, found bool, err error) {
	err = p.fieldsOf(b, allBytes[:1], func(_ field, v []byte) { s, found = v, true })
	return s, found, err
}

// readIntOrString reads intstr.IntOrString{1: type, 2: intVal, 3: strVal}.
func (p *plan) readIntOrString(b []byte) (v intstr.IntOrString, err error) {
	if err := p.fieldsOf(b, intOrStringTypes, func(field, []byte) {}); err != nil {
		return v, err
	}
	if err := v.Unmarshal(b); err != nil || v.Type != intstr.Int && v.Type != intstr.String {
		return v, p.error(ErrValue)
	}
	return v, nil
}

// embeddedJSON returns the JSON in a RawExtension, FieldsV1 or JSONSchemaProps JSON: messages whose
// only field is bytes. Nil stands for null. The JSON is not checked: an apiserver with CBOR enabled may send
// CBOR instead. Error: ErrValue for a RawExtension of no bytes.
func (p *plan) embeddedJSON(o op, b []byte) ([]byte, error) {
	raw, found, err := p.readSingleString(b)
	switch {
	case err != nil || !found:
		return nil, err
	case len(raw) > 0:
		return raw, nil
	case o == opRawExtension:
		return nil, p.error(ErrValue)
	}
	return nil, nil
}

// printedSchemaField returns the field of a JSONSchemaPropsOr… that is printed, or nil for null.
// The schema is field 1 next to an array and field 2 next to a bool; an array takes precedence over
// the schema, and the schema over the bool. Source: the MarshalJSON methods of apiextensions.
func (tc *transcoder) printedSchemaField(o op, p *plan, b []byte) (*planField, span, error) {
	low := len(tc.spans)
	spans, present, err := tc.indexFields(b, p)
	tc.spans = tc.spans[:low]
	switch {
	case err != nil:
		return nil, span{}, err
	case present.has(1):
		return &p.fields[1], spans[1], nil
	case present.has(0):
		return &p.fields[0], spans[0], nil
	case o == opSchemaOrBool:
		return &p.fields[0], span{}, nil
	}
	return nil, span{}, nil
}

// compact appends embedded JSON as encoding/json prints the output of a MarshalJSON method.
// Errors: ErrValue, ErrTooDeep.
func compact(dst, js []byte) ([]byte, error) {
	dst, err := sjson.AppendCompact(dst, js)
	switch {
	case err == nil:
		return dst, nil
	case errors.Is(err, sjson.ErrDepth):
		return dst, ErrTooDeep
	}
	return dst, ErrValue
}
