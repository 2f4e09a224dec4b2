package json

// AppendMetadataOnly appends obj cut down to its metadata, byte for byte as
// the apiserver prints it when asked for as=PartialObjectMetadata:
//
//	{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{…}}
//
// apiVersion is meta.k8s.io/v1 or meta.k8s.io/v1beta1. obj may come from a
// typed resource (members in the order of the Go struct) or from a custom one
// (members sorted); metadata comes out in the order of metav1.ObjectMeta with
// what that type omits left out: empty strings, maps and lists, members it
// does not know. The spec is not looked at beyond finding its end, and not
// even that if metadata stands before it.
//
// The error is ErrNotObject, ErrFieldType naming the field, or ErrSyntax;
// dst is then returned unchanged.
func AppendMetadataOnly(dst, obj []byte, apiVersion string) ([]byte, error) {
	base := len(dst)
	m := membersOf(obj)
	if m.bad {
		return dst, at(ErrNotObject, "object", m.pos)
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
			return dst[:base], at(ErrSyntax, "object", m.start)
		}
	}
	if m.bad {
		return dst[:base], at(ErrSyntax, "object", m.pos)
	}
	return append(dst, `{}}`...), nil
}

// The Go structs that metadata is made of, in the order of their fields
// (apimachinery v0.36, meta/v1/types.go).
var (
	ownerReference = structure{
		always("apiVersion", appendText), always("kind", appendText), always("name", appendText), always("uid", appendText),
		field("controller", appendBool), field("blockOwnerDeletion", appendBool),
	}
	managedFields = structure{
		field("manager", appendText), field("operation", appendText), field("apiVersion", appendText), field("time", appendTime),
		field("fieldsType", appendText), field("fieldsV1", appendRaw), field("subresource", appendText),
	}
	objectMeta = structure{
		field("name", appendText), field("generateName", appendText), field("namespace", appendText), field("selfLink", appendText),
		field("uid", appendText), field("resourceVersion", appendText), field("generation", appendNonZero),
		field("creationTimestamp", appendCreation), field("deletionTimestamp", appendTime), field("deletionGracePeriodSeconds", appendInt),
		field("labels", appendMap), field("annotations", appendMap), field("ownerReferences", appendOwners),
		field("finalizers", appendTexts), field("managedFields", appendManaged),
	}
)
