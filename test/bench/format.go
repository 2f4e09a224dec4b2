package main

// format is what a client asks for.
type format struct {
	name   string
	accept string // of lists
	// watch is what watches accept, and frames counts what they are sent; both empty where there are none.
	watch  string
	frames func() counter
	// held is about how much memory the apiserver takes for each object of a list until it is written.
	held int64
	// costly lists take the apiserver so long that it is asked for one only.
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

// formats that can be asked for.
var formats = []format{
	{name: "json", accept: jsonType, watch: jsonType, frames: newLines, held: 8 << 10},
	{name: "protobuf", accept: protobufType, watch: protobufType, frames: newFrames, held: 8 << 10},
	{name: "cbor", accept: cborType, watch: cborType, frames: newItems, held: 30 << 10},
	{name: "table", accept: jsonType + tableOf, watch: jsonType + tableOf, frames: newLines, held: 20 << 10},
	{name: "metadata", accept: jsonType + metadataList, watch: jsonType + metadataItem, frames: newLines, held: 10 << 10},
	{
		name: "metadata-protobuf", accept: protobufType + metadataList,
		watch: protobufType + metadataItem, frames: newFrames, held: 10 << 10,
	},
	{name: "yaml", accept: yamlType, held: 800 << 10, costly: true},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// watchNames are the formats that watches have.
func watchNames() []string {
	var names []string
	for _, f := range formats {
		if f.frames != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// formatOf finds a format by its name, which has been validated.
func formatOf(name string) format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	panic("bench: no format " + name)
}
