package json

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// PartialObjectMetadata decodes the metadata of obj as the apiserver does for as=PartialObjectMetadata. apiVersion is
// meta.k8s.io/v1 or meta.k8s.io/v1beta1. If metadata precedes the spec, the spec is not read.
//
// The error is ErrNotObject, or ErrFieldType with the reason.
func PartialObjectMetadata(obj []byte, apiVersion string) (*metav1.PartialObjectMetadata, error) {
	if Value(obj).Kind() != Object {
		return nil, At(ErrNotObject, "object", 0)
	}
	metadata := Value(obj).Get("metadata")
	if metadata == nil {
		metadata = Value("{}")
	}
	p := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: apiVersion}}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(metadata, &p.ObjectMeta); err != nil {
		return nil, fmt.Errorf("metadata: %w: %w", ErrFieldType, err)
	}
	return p, nil
}
