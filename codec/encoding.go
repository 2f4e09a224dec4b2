package codec

// Encoding is one of the four encodings of the Kubernetes API. The zero value is JSON.
type Encoding uint8

// The encodings, in the apiserver's order of preference.
const (
	JSON Encoding = iota
	YAML
	Protobuf
	CBOR
)

// The media types of the encodings, as in Accept and Content-Type.
const (
	MediaJSON     = "application/json"
	MediaYAML     = "application/yaml"
	MediaProtobuf = "application/vnd.kubernetes.protobuf"
	MediaCBOR     = "application/cbor"
	// MediaCBORSequence is the media type of a watch in CBOR.
	MediaCBORSequence = "application/cbor-seq"
)

// encodings describes each Encoding, indexed by it.
var encodings = [...]struct {
	name   string
	media  string // of a single body
	stream string // of a watch stream; empty if the encoding has none
}{
	JSON:     {"json", MediaJSON, MediaJSON},
	YAML:     {"yaml", MediaYAML, ""},
	Protobuf: {"protobuf", MediaProtobuf, MediaProtobuf + ";stream=watch"},
	CBOR:     {"cbor", MediaCBOR, MediaCBORSequence},
}

// String returns the name that metrics use: json, yaml, protobuf, cbor.
func (e Encoding) String() string { return encodings[e].name }

// MediaType returns the Content-Type of a single body, such as "application/json".
func (e Encoding) MediaType() string { return encodings[e].media }

// StreamType returns the Content-Type of a watch stream (wire.md 1.4), and false for YAML, which the
// apiserver does not stream.
func (e Encoding) StreamType() (string, bool) {
	s := encodings[e].stream
	return s, s != ""
}
