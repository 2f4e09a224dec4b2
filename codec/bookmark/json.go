package bookmark

import (
	"bytes"
	stdjson "encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

// Unstructured returns the Encoder for custom resources in JSON: apiVersion, kind and metadata, sorted.
func Unstructured(apiVersion, kind string) Encoder {
	head := json.AppendString([]byte(`{"apiVersion":`), apiVersion)
	head = append(head, `,"kind":`...)
	head = json.AppendString(head, kind)
	head = append(head, `,"metadata":{`...)
	return func(dst []byte, rv string, initialEventsEnd bool) ([]byte, error) {
		dst = append(dst, head...)
		if initialEventsEnd {
			dst = append(dst, `"annotations":{"`+metav1.InitialEventsAnnotationKey+`":"true"},`...)
		}
		dst = append(dst, `"resourceVersion":`...)
		return append(json.AppendString(dst, rv), "}}"...), nil
	}
}

// Typed returns the Encoder for built-in resources in JSON. template is the object of a bookmark that the
// apiserver sent: only the apiserver knows how the other fields of a zero object are printed. Of its
// annotations only the one that DaemonSets have belongs to the zero object; others, such as a newer
// apiserver may send, belong to that one bookmark. If template is nil the Encoder returns ErrNoTemplate.
func Typed(template []byte) (Encoder, error) {
	if template == nil {
		return func(dst []byte, _ string, _ bool) ([]byte, error) { return dst, ErrNoTemplate }, nil
	}
	metadata := json.Value(template).Get("metadata")
	if metadata.Kind() != json.Object {
		return nil, ErrNoTemplate
	}
	before, after, _ := bytes.Cut(template, metadata)
	own := map[string]string{}
	if v, ok := metadata.Get("annotations", appsv1.DeprecatedTemplateGeneration).Text(); ok {
		own[appsv1.DeprecatedTemplateGeneration] = v
	}
	plain := annotationsMember(own)
	own[metav1.InitialEventsAnnotationKey] = "true"
	ending := annotationsMember(own)
	return func(dst []byte, rv string, initialEventsEnd bool) ([]byte, error) {
		dst = append(dst, before...)
		dst = append(dst, `{"resourceVersion":`...)
		dst = json.AppendString(dst, rv)
		if initialEventsEnd {
			dst = append(dst, ending...)
		} else {
			dst = append(dst, plain...)
		}
		return append(append(dst, '}'), after...), nil
	}, nil
}

// annotationsMember returns annotations as a member that is not the first, or nothing.
func annotationsMember(annotations map[string]string) []byte {
	if len(annotations) == 0 {
		return nil
	}
	b, _ := stdjson.Marshal(annotations) // strings cannot fail
	return append([]byte(`,"annotations":`), b...)
}
