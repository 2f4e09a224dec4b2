package codec

import (
	"strconv"
	"strings"
)

// notRoutable is the router's 406: no route of the path produces what is accepted. Its details are present and empty.
func notRoutable(produces []string) *Status {
	return &Status{
		Message: "406: Not Acceptable\n\nAvailable representations: " + strings.Join(produces, ", "),
		Reason:  "NotAcceptable",
		Details: &Details{},
		Code:    406,
	}
}

// notAcceptable is the handler's 406.
func notAcceptable(accepted []string) *Status {
	return refuse("only the following media types are accepted: " + strings.Join(accepted, ", "))
}

func notMetadata(goType string) *Status {
	return refuse("you requested PartialObjectMetadata, but the requested object is a list (" + goType + ")")
}

func notMetadataList(goType string) *Status {
	return refuse("you requested PartialObjectMetadataList, but the requested object is not a list (" + goType + ")")
}

func refuse(message string) *Status {
	return &Status{Message: message, Reason: "NotAcceptable", Code: 406}
}

// mediaTypes are the media types of single bodies that refusals list, Protobuf included even for custom resources.
func mediaTypes(cbor bool) []string {
	if cbor {
		return producesObjectCBOR
	}
	return producesObject
}

// streamTypes are the media types of watch streams that refusals list.
func streamTypes(cbor bool) []string {
	if cbor {
		return producesListCBOR[len(producesObjectCBOR):]
	}
	return producesList[len(producesObject):]
}

// quote prints a value as the apiserver's messages do.
func quote(s string) string { return strconv.Quote(s) }
