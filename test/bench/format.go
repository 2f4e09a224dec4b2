package main

import "bufio"

// format is a representation that a client requests.
type format struct {
	name   string
	accept string // of lists
	// watch is the Accept header of watches and frames splits their events; empty if watches do not
	// have it.
	watch  string
	frames bufio.SplitFunc
	// apiserverMemory is about the memory per object that the apiserver holds until it has written
	// a list, in bytes.
	apiserverMemory int64
	// costly lists take the apiserver minutes, so that the run requests only one.
	costly bool
}

const (
	metadataItem = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	tableOf      = ";as=Table;g=meta.k8s.io;v=v1"

	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
	cborType     = "application/cbor"
	yamlType     = "application/yaml"
)

// formats are the values of --formats.
var formats = []format{
	{name: "json", accept: jsonType, watch: jsonType, frames: splitLines, apiserverMemory: 8 << 10},
	{name: "protobuf", accept: protobufType, watch: protobufType, frames: splitFrames, apiserverMemory: 8 << 10},
	{name: "cbor", accept: cborType, watch: cborType, frames: splitItems, apiserverMemory: 30 << 10},
	{name: "table", accept: jsonType + tableOf, watch: jsonType + tableOf, frames: splitLines, apiserverMemory: 20 << 10},
	{
		name: "metadata", accept: jsonType + metadataList,
		watch: jsonType + metadataItem, frames: splitLines, apiserverMemory: 10 << 10,
	},
	{
		name: "metadata-protobuf", accept: protobufType + metadataList,
		watch: protobufType + metadataItem, frames: splitFrames, apiserverMemory: 10 << 10,
	},
	{name: "yaml", accept: yamlType, apiserverMemory: 800 << 10, costly: true},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// watchNames returns the names of the formats of watches.
func watchNames() []string {
	var names []string
	for _, f := range formats {
		if f.frames != nil {
			names = append(names, f.name)
		}
	}
	return names
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
