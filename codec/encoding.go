package codec

// Encoding is one of the ways in which an object is laid out as bytes. The zero value is JSON.
type Encoding uint8

// The encodings, in the apiserver's order of preference.
const (
	JSON Encoding = iota
	YAML
	Protobuf
	CBOR

	maxEncoding = CBOR
)

// The media types of the encodings, as they stand in Accept and Content-Type.
const (
	MediaJSON     = "application/json"
	MediaYAML     = "application/yaml"
	MediaProtobuf = "application/vnd.kubernetes.protobuf"
	MediaCBOR     = "application/cbor"

	mediaProtobufStream = MediaProtobuf + ";stream=watch"
	mediaCBORSequence   = "application/cbor-seq"
)

// encodings holds what is known of each Encoding, indexed by it.
var encodings = [...]struct {
	name    string
	media   string // of a single body
	subtype string // what follows "application/"
	stream  string // of a watch stream; empty when the encoding cannot be streamed
}{
	JSON:     {"json", MediaJSON, "json", MediaJSON},
	YAML:     {"yaml", MediaYAML, "yaml", ""},
	Protobuf: {"protobuf", MediaProtobuf, "vnd.kubernetes.protobuf", mediaProtobufStream},
	CBOR:     {"cbor", MediaCBOR, "cbor", mediaCBORSequence},
}

// String returns the short name, as in metrics: json, yaml, protobuf, cbor.
func (e Encoding) String() string {
	if e > maxEncoding {
		return "invalid"
	}
	return encodings[e].name
}

// MediaType returns the Content-Type of a single body, such as "application/json".
func (e Encoding) MediaType() string {
	if e > maxEncoding {
		return ""
	}
	return encodings[e].media
}

// StreamType returns the Content-Type of a watch stream (wire.md 1.4), and false for YAML, which has none.
func (e Encoding) StreamType() (string, bool) {
	if e > maxEncoding {
		return "", false
	}
	s := encodings[e].stream
	return s, s != ""
}
