package proto

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
)

// AppendPartialObjectMetadataFromJSON appends the raw PartialObjectMetadata of an object in JSON: one field,
// its ObjectMeta. This is the only Protobuf of custom resources (wire.md 2). Errors are those of
// json.AppendPartialObjectMetadata, or say which time cannot be parsed; dst is then returned unchanged.
func AppendPartialObjectMetadataFromJSON(dst, obj []byte) ([]byte, error) {
	s := scratch.Get()
	defer s.Put()
	var err error
	// As the apiserver prints metadata, it has no nulls, no unknown members and none out of order.
	if s.B, err = json.AppendPartialObjectMetadata(s.B, obj, "meta.k8s.io/v1"); err != nil {
		return dst, err
	}
	base := len(dst)
	if dst, err = objectMetaFields.append(dst, objectMeta, json.Value(s.B).Get("metadata")); err != nil {
		return dst[:base], fmt.Errorf("metadata: %w", err)
	}
	return dst, nil
}

// maxMetaFields is the largest number of fields in a message of metadata.
const maxMetaFields = 15

// messageFields are the fields of a message of metadata in the order of their numbers.
type messageFields []messageField

type messageField struct {
	num    protowire.Number
	name   string // in JSON
	always bool   // written even if it is absent
	append appendField
}

// appendField appends a value as field num, or the default of an absent one.
type appendField func(dst []byte, num protowire.Number, v json.Value) ([]byte, error)

// The messages of metadata (apimachinery v0.37, meta/v1/generated.proto).
var (
	objectMetaFields = messageFields{
		{1, "name", true, appendTextField}, {2, "generateName", true, appendTextField}, {3, "namespace", true, appendTextField},
		{4, "selfLink", true, appendTextField}, {5, "uid", true, appendTextField}, {6, "resourceVersion", true, appendTextField},
		{7, "generation", true, appendNumberField}, {8, "creationTimestamp", true, appendTimeField},
		{9, "deletionTimestamp", false, appendTimeField}, {10, "deletionGracePeriodSeconds", false, appendNumberField},
		{11, "labels", false, appendMapField}, {12, "annotations", false, appendMapField},
		{13, "ownerReferences", false, each(ownerFields.append)}, {14, "finalizers", false, each(appendTextField)},
		{17, "managedFields", false, each(managedFields.append)},
	}
	ownerFields = messageFields{
		{1, "kind", true, appendTextField}, {3, "name", true, appendTextField}, {4, "uid", true, appendTextField},
		{5, "apiVersion", true, appendTextField}, {6, "controller", false, appendBoolField},
		{7, "blockOwnerDeletion", false, appendBoolField},
	}
	managedFields = messageFields{
		{1, "manager", true, appendTextField}, {2, "operation", true, appendTextField}, {3, "apiVersion", true, appendTextField},
		{4, "time", false, appendTimeField}, {6, "fieldsType", true, appendTextField}, {7, "fieldsV1", false, appendRawField},
		{8, "subresource", true, appendTextField},
	}
)

// find returns the index of the field of a name, or -1. The search begins at from: the next field, if members are in the
// order of the fields.
func (fields messageFields) find(name []byte, from int) int {
	for n := range fields {
		if i := (from + n) % len(fields); string(name) == fields[i].name {
			return i
		}
	}
	return -1
}

// append appends an object as field num.
func (fields messageFields) append(dst []byte, num protowire.Number, object json.Value) (_ []byte, err error) {
	var values [maxMetaFields]json.Value // nil if absent
	from := 0
	for name, v := range object.Members {
		if i := fields.find(name, from); i >= 0 {
			values[i], from = v, i+1
		}
	}
	base := len(dst)
	for i := range fields {
		f := &fields[i]
		if values[i] == nil && !f.always {
			continue
		}
		if dst, err = f.append(dst, f.num, values[i]); err != nil {
			return dst[:base], fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return closeField(dst, num, base), nil
}

// each returns a function that appends every element of an array by f.
func each(f appendField) appendField {
	return func(dst []byte, num protowire.Number, array json.Value) (_ []byte, err error) {
		for _, v := range array.Elements {
			if dst, err = f(dst, num, v); err != nil {
				break
			}
		}
		return dst, err
	}
}

// closeField turns the bytes appended since base into the payload of field num.
func closeField(dst []byte, num protowire.Number, base int) []byte {
	size := len(dst) - base
	head := protowire.SizeTag(num) + protowire.SizeVarint(uint64(size))
	for range head {
		dst = append(dst, 0)
	}
	copy(dst[base+head:], dst[base:base+size])
	protowire.AppendVarint(protowire.AppendTag(dst[:base], num, protowire.BytesType), uint64(size))
	return dst
}

// appendTextField appends a string field, empty if v is absent.
func appendTextField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	base := len(dst)
	dst, _ = v.AppendText(dst)
	return closeField(dst, num, base), nil
}

// appendRawField appends a FieldsV1: the JSON as it is.
func appendRawField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	base := len(dst)
	return closeField(AppendBytesField(dst, 1, v), num, base), nil
}

// appendNumberField appends an integer field, 0 if v is absent.
func appendNumberField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	n, _ := v.Int()
	return appendIntField(dst, num, n), nil
}

func appendBoolField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	b, _ := v.Bool()
	return appendIntField(dst, num, int64(protowire.EncodeBool(b))), nil
}

// appendMapField appends the entries of a map in their order: the apiserver sorts them in both encodings.
func appendMapField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	for key, value := range v.Members {
		base := len(dst)
		dst, _ = appendTextField(AppendBytesField(dst, 1, key), 2, value)
		dst = closeField(dst, num, base)
	}
	return dst, nil
}

// appendTimeField appends a Time as field num: seconds and nanoseconds, or an empty message for null.
func appendTimeField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	base := len(dst)
	if text, ok := v.Bytes(); ok {
		t, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			return dst, err
		}
		dst = appendIntField(dst, 1, t.Unix())
		dst = appendIntField(dst, 2, 0)
	}
	return closeField(dst, num, base), nil
}

// AppendBytesField appends bytes, text or a message as field num.
func AppendBytesField(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

func appendIntField(dst []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), uint64(n))
}
