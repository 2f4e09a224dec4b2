package codec

import "strings"

// The producible media types of typed routes, in the order in which the apiserver's refusal lists them (wire.md 1.1).
var (
	producesObject     = []string{MediaJSON, MediaYAML, MediaProtobuf}
	producesObjectCBOR = []string{MediaJSON, MediaYAML, MediaProtobuf, MediaCBOR}
	producesList       = []string{MediaJSON, MediaYAML, MediaProtobuf,
		MediaJSON + ";stream=watch", mediaProtobufStream}
	producesListCBOR = []string{MediaJSON, MediaYAML, MediaProtobuf, MediaCBOR,
		MediaJSON + ";stream=watch", mediaProtobufStream, mediaCBORSequence}
)

// produces returns the producible media types of t's route.
func produces(t Target) []string {
	switch {
	case t.Verb == Get && t.CBOR:
		return producesObjectCBOR
	case t.Verb == Get:
		return producesObject
	case t.CBOR:
		return producesListCBOR
	default:
		return producesList
	}
}

// admitted is the router's own look at Accept, before any handler sees it: parameters and qualities do not count, and
// one part must be */* or equal, case included, to a producible media type (wire.md 1.1).
func admitted(accept string, produces []string) bool {
	for rest, more := accept, accept != ""; more; {
		var part string
		part, rest, _ = strings.Cut(rest, ",")
		more = rest != ""
		part, _, _ = strings.Cut(part, ";")
		part = strings.Trim(part, " ")
		if part == "*/*" {
			return true
		}
		for _, p := range produces {
			if p == part {
				return true
			}
		}
	}
	return accept == ""
}
