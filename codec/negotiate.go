package codec

// Verb is one of the three kinds of read.
type Verb uint8

// The verbs. A deprecated /watch/ path is a Watch.
const (
	Get Verb = iota
	List
	Watch
)

// Style says which of the apiserver's two machineries serves a resource; they differ in many small ways (wire.md 13.1).
type Style uint8

const (
	// Typed resources are compiled in: JSON in struct order, Protobuf, items without kind and apiVersion.
	Typed Style = iota
	// Unstructured resources are custom resources: JSON with sorted keys, items whole.
	Unstructured
)

// Target is what a request is about, as far as negotiation depends on it.
type Target struct {
	Verb  Verb
	Style Style
	// Group and Kind name the resource's kind, such as "apps" and "Deployment"; two of the refusals tell the Go type.
	Group, Kind string
	// CBOR says whether CBOR is offered.
	CBOR bool
	// Strict refuses a list as=PartialObjectMetadata, as the apiserver does. Otherwise it is answered with a
	// PartialObjectMetadataList, as the API concepts page promises.
	Strict bool
	// Drop honours the parameter drop=metadata.managedFields of a media type, as an apiserver with the gate
	// ManagedFieldsOptOut does. Otherwise the parameter is unknown, and so ignored.
	Drop bool
}

// Client is what a request says about the format it wants.
type Client struct {
	Accept        string // the first Accept header line
	Pretty        string // the first value of the query parameter pretty
	UserAgent     string
	IncludeObject string // the first value of the query parameter includeObject
}

// Decision is the outcome of [Negotiate].
type Decision struct {
	// Format is how to answer, when Refusal is nil.
	Format Format
	// Refusal is the error to answer with instead.
	Refusal *Status
	// Late says that the apiserver notices the Refusal only after it has read the storage (or begun the watch), so
	// that any error found until then (400, 404, 410, 422, 504) is answered instead.
	Late bool
	// Errors is the format of every Status in answer to this request, except 401 and 403: see [ErrorFormat].
	Errors Format
}

// Negotiate decides on the format of an answer, or refuses, exactly as wire.md 1.1-1.5 has it. It does not allocate for
// the Accept headers of well-known clients unless it refuses.
func Negotiate(c Client, t Target) Decision {
	d := Decision{Errors: ErrorFormat(c, t.CBOR)}
	if t.Style == Typed && !admitted(c.Accept, produces(t)) {
		d.Refusal = notRoutable(produces(t))
		return d
	}
	m, ok := rulesFor(t).choose(c.Accept)
	if !ok {
		d.Refusal = notAcceptable(mediaTypes(t.CBOR))
		return d
	}
	d.Format, d.Refusal = shape(c, t, m)
	d.Late = d.Refusal != nil
	if d.Refusal != nil {
		d.Format = Format{}
	}
	return d
}

// ErrorFormat returns the format in which a client gets a Status. Conversions are not allowed there, so a client that
// accepts only Tables gets indented JSON (wire.md 1.3). For 401 and 403 cbor must be false: the apiserver's front door
// does not speak it.
func ErrorFormat(c Client, cbor bool) Format {
	m, ok := errorRules(cbor).choose(c.Accept)
	if !ok {
		return Format{Pretty: true}
	}
	return Format{Encoding: m.encoding, Pretty: m.encoding == JSON && (m.pretty || wantsPretty(c.Pretty, c.UserAgent))}
}

// Takes says whether the client accepts whole objects in an encoding, not only what is made of them.
func (c Client) Takes(e Encoding) bool {
	if c.Accept == "" {
		return true
	}
	cs := clauses(c.Accept)
	for i := range cs {
		if covers(&cs[i], e) {
			if m, ok := (rules{metaV1: true, maxMedia: CBOR}).accept(cs[i].Params, e); ok && !m.convert.wanted {
				return true
			}
		}
	}
	return false
}

// shape makes the canonical Format of a match, or the refusal that the apiserver's transformation of the result meets.
func shape(c Client, t Target, m match) (f Format, refusal *Status) {
	f.Encoding = m.encoding
	f.Pretty = m.encoding == JSON && t.Verb != Watch && (m.pretty || wantsPretty(c.Pretty, c.UserAgent))
	if m.convert.wanted {
		f.MetaVersion, _ = m.convert.metaVersion()
		switch m.convert.kind {
		case "Table":
			f.Shape = Table
			f.Include, refusal = parseInclude(c.IncludeObject)
		case "PartialObjectMetadata":
			f.Shape, refusal = asMetadata(t)
		case "PartialObjectMetadataList":
			f.Shape, refusal = asMetadataList(t)
		}
	}
	f.Unmanaged = m.drop && (f.Shape != Table || f.Include != IncludeNone)
	if refusal == nil && t.Verb == Watch && encodings[m.encoding].stream == "" {
		refusal = notAcceptable(streamTypes(t.CBOR))
	}
	return f, refusal
}

// asMetadata refuses as=PartialObjectMetadata for a list when strict (wire.md 1.4).
func asMetadata(t Target) (Shape, *Status) {
	if t.Verb == List && t.Strict {
		return Metadata, notMetadata(goType(t))
	}
	return Metadata, nil
}

// asMetadataList refuses as=PartialObjectMetadataList for a single object, typed and unstructured in different words.
func asMetadataList(t Target) (Shape, *Status) {
	switch t.Verb {
	case List:
		return Metadata, nil
	case Watch:
		return MetadataList, nil
	}
	if t.Style == Unstructured {
		return MetadataList, NewServerError("content is not a list")
	}
	return MetadataList, notMetadataList(goType(t))
}

// parseInclude reads the query parameter includeObject; it counts only for Tables (wire.md 1.5).
func parseInclude(s string) (Include, *Status) {
	switch s {
	case "", "Metadata":
		return IncludeMetadata, nil
	case "None":
		return IncludeNone, nil
	case "Object":
		return IncludeObject, nil
	}
	return 0, NewBadRequest("Unable to convert to Table as requested: includeObject: Invalid value: " + quote(s) +
		": must be 'Metadata', 'Object', 'None', or empty")
}
