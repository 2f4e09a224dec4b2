package codec

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec/json"
	"sluice/codec/proto"
)

// Resource is what is known of one resource and of its stored bytes.
//
// A Protobuf source is the raw message: no envelope, no TypeMeta. A JSON source is the object as the upstream sent it in
// a watch event: compact, with kind and apiVersion, typed ones in struct order and unstructured ones with sorted keys.
type Resource struct {
	Group, Version string
	Resource       string // plural, as in paths
	Kind, ListKind string
	Style          Style
	Source         Encoding // JSON or Protobuf
	Namespaced     bool
	// Columns is how Tables of it are printed; nil is the apiserver's own way for its own kinds, and makes NewWriter
	// refuse Tables of others.
	Columns Columns
	// Bookmark is the object of a bookmark that the apiserver sent, for typed resources stored as JSON: only the
	// apiserver knows how the other fields of a zero object are printed. Others leave it nil.
	Bookmark []byte
}

// Style says which of the apiserver's two machineries serves a resource. They differ in many small ways
// (wire.md 13.1).
type Style uint8

// The styles.
const (
	// Typed resources are compiled in: JSON in struct order, Protobuf, items without kind and apiVersion.
	Typed Style = iota
	// Unstructured resources are custom resources: JSON with sorted keys, items whole.
	Unstructured
)

// Columns is how one kind is printed in Tables; package table has them.
type Columns interface {
	// AppendDefinitions appends the JSON array of the column definitions.
	AppendDefinitions(dst []byte) []byte
	// AppendCells appends the JSON array of an object's cells, with ages as of now.
	AppendCells(dst []byte, obj json.Value, now time.Time) ([]byte, error)
	// AppendConditions appends the JSON array of the row's conditions, or nothing.
	AppendConditions(dst []byte, obj json.Value) []byte
	// Sorted says that a list's rows are not in the order of its objects.
	Sorted() bool
	// RepeatsDefinitions reports whether every event of a watch carries the definitions.
	RepeatsDefinitions() bool
}

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

// UID returns metadata.uid of src, stored bytes of the resource, which it may alias; nil if there is none.
func (r *Resource) UID(src []byte) []byte {
	if r.Source == Protobuf {
		meta, _ := proto.ParseObjectMeta(src) // it could be read before it was stored
		return meta.UID
	}
	uid, _ := json.Value(src).Get("metadata", "uid").Bytes()
	return uid
}

// SetResourceVersion appends src, stored bytes of the resource, with another metadata.resourceVersion.
func (r *Resource) SetResourceVersion(dst, src []byte, rv string) ([]byte, error) {
	if r.Source == Protobuf {
		return proto.AppendWithResourceVersion(dst, src, rv)
	}
	return json.AppendWithResourceVersion(dst, src, rv)
}
