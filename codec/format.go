package codec

// Shape is what is made of an object. The zero value is Object.
type Shape uint8

// The shapes.
const (
	// Object is the whole object, or a list of them.
	Object Shape = iota
	// Table is a Table with a row for each object.
	Table
	// Metadata is a PartialObjectMetadata; for a list a PartialObjectMetadataList.
	Metadata

	maxShape = Metadata
)

// String returns the short name, as in metrics.
func (s Shape) String() string {
	if s > maxShape {
		return "invalid"
	}
	return [...]string{"object", "table", "metadata"}[s]
}

// MetaVersion is the version of meta.k8s.io in which a Table or PartialObjectMetadata is given.
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

// Include is what a Table's rows hold of their object, the query parameter includeObject. The zero value is its default.
type Include uint8

// The values of includeObject.
const (
	IncludeMetadata Include = iota
	IncludeNone
	IncludeObject
)

// Format is how a response is written: the same object in equal Formats is the same bytes. It is comparable and meant as
// a memo key; [Negotiate] returns it canonical, with every field that has no bearing left zero.
type Format struct {
	Encoding    Encoding
	Shape       Shape
	MetaVersion MetaVersion // for shapes other than Object
	Include     Include     // for Table
	Pretty      bool        // indented; for JSON that is not a watch
	Unmanaged   bool        // metadata.managedFields are left out of every object (KEP-5958)
}

// ContentType returns the Content-Type of a response in this format, of a watch stream or of a single body.
func (f Format) ContentType(watch bool) string {
	if watch {
		s, _ := f.Encoding.StreamType()
		return s
	}
	return f.Encoding.MediaType()
}

// AgesWithTime says whether the bytes change though the object does not: a Table's ages are told in words.
func (f Format) AgesWithTime() bool { return f.Shape == Table }
