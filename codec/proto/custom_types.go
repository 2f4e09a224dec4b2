package proto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
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

// An intOrString is a decoded intstr.IntOrString.
type intOrString struct {
	isString bool
	number   int32
	text     []byte
}

// readIntOrString reads intstr.IntOrString{1: type, 2: intVal, 3: strVal}; type is 0 for numbers
// and 1 for strings.
func (p *plan) readIntOrString(b []byte) (v intOrString, err error) {
	typ := uint64(0)
	if err := p.fieldsOf(b, intOrStringTypes, func(f field, text []byte) {
		switch f.num {
		case 1:
			typ = f.value
		case 2:
			v.number = int32(f.value)
		default:
			v.text = text
		}
	}); err != nil {
		return v, err
	}
	if typ > 1 {
		return v, p.error(ErrValue)
	}
	v.isString = typ == 1
	return v, nil
}

// embeddedJSON returns the JSON in a RawExtension, FieldsV1 or JSONSchemaProps JSON: messages whose
// only field is bytes. Nil stands for null.
func (p *plan) embeddedJSON(o op, b []byte) ([]byte, error) {
	raw, found, err := p.readSingleString(b)
	if err != nil || !found {
		return nil, err
	}
	cbor := false
	switch {
	case o == opRawExtension:
		cbor = len(raw) >= len(cborMagic) && string(raw[:len(cborMagic)]) == cborMagic
		if !cbor && (len(raw) == 0 || !startsJSON(raw[0])) {
			return nil, p.error(ErrValue)
		}
	case len(raw) == 0:
		return nil, nil
	case o == opFieldsV1:
		cbor = startsCBOR(raw[0])
	}
	if !cbor {
		return raw, nil
	}
	js, err := cborToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", p.error(ErrValue), err)
	}
	return js, nil
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

// cborMagic is the self-described CBOR tag, with which CBOR in a RawExtension begins.
const cborMagic = "\xd9\xd9\xf7"

// startsJSON reports whether a RawExtension that begins with c holds JSON. Source:
// RawExtension.guessContentType.
func startsJSON(c byte) bool {
	return bytes.IndexByte([]byte("\t\r\n {[ntf\"-0123456789"), c) >= 0
}

// startsCBOR reports whether a FieldsV1 that begins with c holds CBOR: null, a map or a tag.
// Source: FieldsV1.getContentType.
func startsCBOR(c byte) bool {
	return c == 0xf6 || c >= 0xa0 && c <= 0xbf || c >= 0xc6 && c <= 0xdb
}

// cborToJSON converts CBOR in a RawExtension or FieldsV1 as the apiserver does: by way of maps,
// with sorted keys. Such CBOR exists only in clusters whose apiserver has CBOR enabled.
func cborToJSON(b []byte) ([]byte, error) {
	var v any
	if err := direct.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
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
