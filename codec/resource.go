package codec

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/codec/table"
)

// Resource describes one resource and the form of its stored bytes.
//
// With the source Protobuf they are the raw message, without envelope and TypeMeta. With the source JSON
// they are the object of a watch event of the apiserver: compact, with kind and apiVersion, in struct
// order for typed resources and with sorted keys for unstructured ones. With WholeFloats the object was
// read as CBOR, and whole-number floats end in .0: JSON responses do not distinguish them from integers,
// while CBOR responses do.
type Resource struct {
	Group, Version string
	Resource       string // plural, as in paths
	Kind, ListKind string
	Style          Style
	Source         Encoding // JSON or Protobuf
	WholeFloats    bool     // for unstructured resources
	Namespaced     bool
	// ShardInfo is true if lists of metadata and of custom resources carry shardInfo, as since Kubernetes 1.38.
	ShardInfo bool
	// Columns are the columns of its Tables. With nil NewWriter refuses Tables.
	Columns *table.Columns
	// Bookmark is the object of a bookmark that the apiserver sent, for typed resources stored as JSON:
	// only the apiserver knows how the other fields of a zero object are printed. Others leave it nil.
	Bookmark []byte
}

// Style says how the apiserver serves a resource: as a built-in type or as a custom resource. The responses
// differ in many small ways (wire.md 13.1).
type Style uint8

// The styles.
const (
	// Typed resources are compiled in: JSON in struct order, Protobuf, items without kind and apiVersion.
	Typed Style = iota
	// Unstructured resources are custom resources: JSON with sorted keys, items whole.
	Unstructured
)

// APIVersion returns "group/version", or "version" in the core group.
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// GroupResource names the resource as error messages do.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

// UID returns metadata.uid of src, an object as it is stored, which the result may alias; nil if it has none.
func (r *Resource) UID(src []byte) []byte {
	if r.Source == Protobuf {
		meta, _ := proto.ParseObjectMeta(src) // it was read before it was stored
		return meta.UID
	}
	uid, _ := json.Value(src).Get("metadata", "uid").Bytes()
	return uid
}

// SetResourceVersion appends src, an object as it is stored, with another metadata.resourceVersion.
func (r *Resource) SetResourceVersion(dst, src []byte, rv string) ([]byte, error) {
	if r.Source == Protobuf {
		return proto.AppendWithResourceVersion(dst, src, rv)
	}
	return json.AppendWithResourceVersion(dst, src, rv)
}
