package bookmark

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// Protobuf returns the Encoder for built-in resources in Protobuf. A kind without a schema has only
// metadata, which is enough for the formats in which such a kind can be written.
func Protobuf(apiVersion, kind string) Encoder {
	return func(dst []byte, rv string, initialEventsEnd bool) ([]byte, error) {
		object := zeroObject(apiVersion, kind)
		object.SetResourceVersion(rv)
		if initialEventsEnd {
			metav1.SetMetaDataAnnotation(object.GetObjectMeta().(*metav1.ObjectMeta), metav1.InitialEventsAnnotationKey, "true")
		}
		raw, err := object.Marshal()
		return append(dst, raw...), err
	}
}

// zeroObject returns the zero object of a kind, as the conversion from the apiserver's internal type makes it: that
// adds an annotation, and sets spec.replicas where it is no pointer in the internal type.
func zeroObject(apiVersion, kind string) proto.Object {
	var object proto.Object = &metav1.PartialObjectMetadata{}
	if schema, ok := proto.Lookup(apiVersion, kind); ok && schema.New() != nil {
		object = schema.New()
	}
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		o.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "0"}
	case *appsv1.Deployment:
		o.Spec.Replicas = new(int32)
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = new(int32)
	case *appsv1.StatefulSet:
		o.Spec.Replicas = new(int32)
	}
	return object
}
