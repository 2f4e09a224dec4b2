package storage

import "strings"

// A shape is what objects are returned as.
type shape struct {
	name  string
	as    string // the parameters of the media type
	list  string // the same for lists
	query string
	codes []string // the encodings that the apiserver has for it
}

const (
	inJSON     = "application/json"
	inYAML     = "application/yaml"
	inProtobuf = "application/vnd.kubernetes.protobuf"
	inCBOR     = "application/cbor"
)

var shapes = []shape{
	{"object", "", "", "", []string{inJSON, inYAML, inProtobuf, inCBOR}},
	{"metadata", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "", []string{inJSON, inYAML, inProtobuf, inCBOR}},
	{"table-metadata", asTable, asTable, "&includeObject=Metadata", []string{inJSON, inYAML}},
	{"table-object", asTable, asTable, "&includeObject=Object", []string{inJSON, inYAML}},
	{"table-none", asTable, asTable, "&includeObject=None", []string{inJSON}},
}

const asTable = ";as=Table;g=meta.k8s.io;v=v1"

// A format is an encoding and a shape.
type format struct {
	shape
	code string
}

func (f format) String() string {
	return f.shape.name + " in " + f.code[strings.LastIndexAny(f.code, "/.")+1:]
}

func formats() []format {
	var all []format
	for _, s := range shapes {
		for _, code := range s.codes {
			all = append(all, format{s, code})
		}
	}
	return all
}
