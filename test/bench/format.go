package main

import "bufio"

// format is a representation that a client requests.
type format struct {
	name   string
	accept string // of lists
	// watch is the Accept header of watches and frames splits their events; empty if no case watches in the format.
	watch  string
	frames bufio.SplitFunc
}

const (
	metadataItem = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	tableOf      = ";as=Table;g=meta.k8s.io;v=v1"

	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

var formats = []format{
	{"json", jsonType, jsonType, splitLines},
	{"protobuf", protobufType, protobufType, splitFrames},
	{"cbor", "application/cbor", "", nil},
	{"table", jsonType + tableOf, jsonType + tableOf, splitLines},
	{"metadata", jsonType + metadataList, jsonType + metadataItem, splitLines},
	{"metadata-protobuf", protobufType + metadataList, protobufType + metadataItem, splitFrames},
	{"yaml", "application/yaml", "", nil},
}

// formatOf returns the format of a name, which must be valid.
func formatOf(name string) format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	panic("bench: no format " + name)
}
