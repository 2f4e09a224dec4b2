package codec

import (
	"strings"

	"sluice/codec/projection"
)

// Shape is the form in which objects are returned. The zero value is Object.
type Shape uint8

// The shapes.
const (
	// Object is the whole object, or a list of them.
	Object Shape = iota
	// Table is a Table with one row per object.
	Table
	// Metadata is a PartialObjectMetadata, for a list a PartialObjectMetadataList.
	Metadata
)

// String returns the name that metrics use: object, table, metadata.
func (s Shape) String() string { return [...]string{"object", "table", "metadata"}[s] }

// MetaVersion is the version of meta.k8s.io of a Table or PartialObjectMetadata.
type MetaVersion uint8

// The versions of meta.k8s.io.
const (
	MetaV1 MetaVersion = iota
	MetaV1beta1
)

// String returns the apiVersion, such as "meta.k8s.io/v1".
func (v MetaVersion) String() string {
	if v == MetaV1beta1 {
		return "meta.k8s.io/v1beta1"
	}
	return "meta.k8s.io/v1"
}

// Include is the part of an object in the row of a Table: the query parameter includeObject. The zero
// value is its default.
type Include uint8

// The values of includeObject.
const (
	IncludeMetadata Include = iota
	IncludeNone
	IncludeObject
)

// Format is how a response is written: the same object in equal Formats is the same bytes. Fields that
// have no effect must be zero, so that a Format can serve as a memo key.
type Format struct {
	Encoding    Encoding
	Shape       Shape
	MetaVersion MetaVersion // for shapes other than Object
	Include     Include     // for Table
	Pretty      bool        // indented; for JSON except watches
	Projection  projection.Projection
	Quiet       bool // a watch omits modifications that leave the projection as it was
}

// ContentType returns the Content-Type of a watch stream or of a single body in this format. A Partial
// format repeats the parameter keep or drop.
func (f Format) ContentType(watch bool) string {
	s := f.Encoding.MediaType()
	if watch {
		s, _ = f.Encoding.StreamType()
	}
	if f.Partial() {
		parameter, paths, _ := strings.Cut(string(f.Projection), "=")
		s += ";" + parameter + `="` + paths + `"`
	}
	return s
}

// Partial reports whether objects lack fields that the apiserver would have sent.
func (f Format) Partial() bool {
	return f.Projection != "" && f.Projection != projection.WithoutManagedFields
}

// WholeObjects reports whether objects are written with all of their fields.
func (f Format) WholeObjects() bool {
	return f.Shape == Object || f.Shape == Table && f.Include == IncludeObject
}

// AgesWithTime reports whether the bytes of an unchanged object change: Tables contain relative ages.
func (f Format) AgesWithTime() bool { return f.Shape == Table }

// AgesApart reports whether the ages in a Table can be left out and written later, because nothing else in
// the bytes depends on them: compact JSON goes on unchanged, while YAML and indentation rewrite the rest.
func (f Format) AgesApart() bool { return f.Shape == Table && f.Encoding == JSON && !f.Pretty }
