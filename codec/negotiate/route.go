package negotiate

import (
	"slices"
	"strings"

	"sluice/codec"
)

// routeMediaTypes returns the media types that the route of a typed resource produces (wire.md 1.1).
// The last one or two are there only where CBOR is offered.
func routeMediaTypes(e Endpoint) []string {
	switch {
	case e.Verb == Get && e.CBOR:
		return mediaTypes
	case e.Verb == Get:
		return mediaTypes[:len(mediaTypes)-1]
	case e.CBOR:
		return listMediaTypes
	default:
		return listMediaTypes[:len(listMediaTypes)-2]
	}
}

var (
	mediaTypes     = []string{codec.MediaJSON, codec.MediaYAML, codec.MediaProtobuf, codec.MediaCBOR}
	listMediaTypes = []string{
		codec.MediaJSON, codec.MediaYAML, codec.MediaProtobuf,
		codec.MediaJSON + ";stream=watch", codec.MediaProtobuf + ";stream=watch",
		codec.MediaCBOR, codec.MediaCBORSequence,
	}
)

// RouteAccepts repeats the check that the apiserver's router makes of Accept before any handler of a
// typed resource sees the request: parameters and qualities are cut off, and one part must be */* or
// equal, case included, to a media type that the route produces (wire.md 1.1).
func RouteAccepts(accept string, e Endpoint) bool {
	if accept == "" {
		return true
	}
	produces := routeMediaTypes(e)
	for part := range strings.SplitSeq(accept, ",") {
		part, _, _ = strings.Cut(part, ";")
		part = strings.Trim(part, " ")
		if part == "*/*" || slices.Contains(produces, part) {
			return true
		}
	}
	return false
}
