package negotiate

import "sluice/codec"

// Verb is one of the three verbs that read.
type Verb uint8

// The verbs. A request to a deprecated /watch/ path is a Watch.
const (
	Get Verb = iota
	List
	Watch
)

var verbs = map[string]Verb{"get": Get, "list": List, "watch": Watch}

// ParseVerb returns the verb of that name in the API (RequestInfo.Verb), and false if it is no read.
func ParseVerb(name string) (v Verb, ok bool) {
	v, ok = verbs[name]
	return v, ok
}

// Request is the part of a request that says which format the client wants.
type Request struct {
	Accept        string // the first Accept header line; the apiserver ignores the others
	Pretty        string // the first value of the query parameter pretty
	UserAgent     string
	IncludeObject string // the first value of the query parameter includeObject
}

// Endpoint is the part of an endpoint that decides which formats it can give.
type Endpoint struct {
	Verb  Verb
	Style codec.Style
	// CBOR says that CBOR is offered; at the apiserver a feature gate decides.
	CBOR bool
	// Strict refuses a list as=PartialObjectMetadata, as the apiserver does. Otherwise such a list is
	// given as a PartialObjectMetadataList, as the API concepts page promises.
	Strict bool
	// Projections honors the media type parameters keep, drop and quiet. Otherwise they are ignored like any unknown one.
	Projections bool
}
