package json

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
// The error is ErrNotObject, ErrSyntax, or ErrFieldType with the name of the field; dst is then
// returned unchanged.
func AppendPartialObjectMetadata(dst, obj []byte, apiVersion string) ([]byte, error) {
	base := len(dst)
	m := membersOf(obj)
	if m.bad {
		return dst, At(ErrNotObject, "object", m.pos)
	}
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":`...)
	dst = AppendString(dst, apiVersion)
	dst = append(dst, `,"metadata":`...)
	for m.nextName() {
		if m.is("metadata") {
			out, _, err := appendStruct(dst, obj, m.start, objectMeta, "metadata")
			if err != nil {
				return dst[:base], err
			}
			return append(out, '}'), nil
		}
		if end := skipValue(obj, m.start); end < 0 || !m.after(end) {
			return dst[:base], At(ErrSyntax, "object", m.start)
		}
	}
	if m.bad {
		return dst[:base], At(ErrSyntax, "object", m.pos)
	}
	return append(dst, `{}}`...), nil
}

// The Go structs of metadata in the order of their fields (apimachinery v0.37, meta/v1/types.go).
var (
	ownerReference = structFields{
		always("apiVersion", appendText), always("kind", appendText), always("name", appendText), always("uid", appendText),
		field("controller", appendBool), field("blockOwnerDeletion", appendBool),
	}
	managedFields = structFields{
		field("manager", appendText), field("operation", appendText), field("apiVersion", appendText), field("time", appendTime),
		field("fieldsType", appendText), field("fieldsV1", appendRaw), field("subresource", appendText),
	}
	objectMeta = structFields{
		field("name", appendText), field("generateName", appendText), field("namespace", appendText), field("selfLink", appendText),
		field("uid", appendText), field("resourceVersion", appendText), field("generation", appendNonZero),
		field("creationTimestamp", appendCreation), field("deletionTimestamp", appendTime),
		field("deletionGracePeriodSeconds", appendInt),
		field("labels", appendMap), field("annotations", appendMap), field("ownerReferences", appendOwners),
		field("finalizers", appendTexts), field("managedFields", appendManaged),
	}
)
