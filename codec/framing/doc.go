// Package framing puts objects into responses: single objects, lists and watch events, in each encoding
// of the Kubernetes API, byte for byte as kube-apiserver does.
//
// There is one [Framing] per encoding: [JSON], [PrettyJSON], [YAML], [CBOR] and [Protobuf]. The objects
// themselves come from an [ObjectEncoder], which knows nothing of the text around them; a [List] has the
// metadata around the items of a list.
//
// Invariants. The types must not be changed after they were made and are then safe for concurrent use.
// The package does not know resources or formats: package codec, above it, chooses.
package framing
