package json

import (
	stdjson "encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// AppendPartialObjectMetadata appends the PartialObjectMetadata of obj with the same bytes as the
// apiserver prints for as=PartialObjectMetadata:
//
//	{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{…}}
//
// apiVersion is meta.k8s.io/v1 or meta.k8s.io/v1beta1. Metadata is printed in the field order of
// metav1.ObjectMeta, without empty strings, maps and lists and without members that the type does
// not have, whatever the order of members in obj: custom resources have them sorted. If metadata
// precedes the spec, the spec is not read.
//
// Metadata in the form in which an apiserver prints it is copied field by field. Other metadata is printed by way
// of the Go type, with the same result.
//
// The error is ErrNotObject, ErrSyntax, or ErrFieldType with the reason; dst is then returned unchanged.
func AppendPartialObjectMetadata(dst, obj []byte, apiVersion string) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, At(ErrNotObject, "object", m.pos)
	}
	metadata := noMetadata
	for m.next() {
		if m.is("metadata") {
			metadata = m.val
			break
		}
	}
	if m.bad {
		return dst, At(ErrSyntax, "object", m.pos)
	}
	base := len(dst)
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":`...)
	dst = AppendString(dst, apiVersion)
	dst = append(dst, `,"metadata":`...)
	out, _, r := objectMeta.append(dst, metadata, 0)
	if r == unusual {
		var err error
		if out, err = appendDecoded(dst, metadata); err != nil {
			return dst[:base], err
		}
	}
	return append(out, '}'), nil
}

var noMetadata = Value("{}")

// appendDecoded appends metadata as its Go type prints it.
func appendDecoded(dst []byte, metadata Value) ([]byte, error) {
	if err := Valid(metadata, Limits{AllowInvalidUTF8: true}); err != nil {
		return dst, err
	}
	var meta metav1.ObjectMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(metadata, &meta); err != nil {
		return dst, fmt.Errorf("metadata: %w: %w", ErrFieldType, err)
	}
	out, err := stdjson.Marshal(&meta)
	return append(dst, out...), err
}

// The Go structs of metadata in the order of their fields (apimachinery v0.37, meta/v1/types.go).
var (
	ownerReference = structFields{
		field("apiVersion", appendText, always), field("kind", appendText, always), field("name", appendText, always),
		field("uid", appendText, always), field("controller", appendBool, 0), field("blockOwnerDeletion", appendBool, 0),
	}
	managedFields = structFields{
		field("manager", appendText, 0), field("operation", appendText, 0), field("apiVersion", appendText, 0),
		field("time", appendTime, 0), field("fieldsType", appendText, 0), field("fieldsV1", appendFieldsV1, 0),
		field("subresource", appendText, 0),
	}
	objectMeta = structFields{
		field("name", appendText, 0), field("generateName", appendText, 0), field("namespace", appendText, 0),
		field("selfLink", appendText, 0), field("uid", appendText, 0), field("resourceVersion", appendText, 0),
		field("generation", appendInt, nonZero), field("creationTimestamp", appendTime, 0), field("deletionTimestamp", appendTime, 0),
		field("deletionGracePeriodSeconds", appendInt, 0),
		field("labels", appendMap, 0), field("annotations", appendMap, 0), field("ownerReferences", each(ownerReference.append), 0),
		field("finalizers", each(appendText), 0), field("managedFields", each(managedFields.append), 0),
	}
)
