// Package proto reads and writes the Kubernetes Protobuf encoding byte by byte, without decoding
// objects into Go types.
//
// It has three layers, each usable without the next:
//
//   - The outer forms: the envelope around every object ([ParseEnvelope], [AppendEnvelope]), watch
//     frames ([ParseEvent], [AppendEvent]) and lists ([Items], [ParseListMeta]).
//   - The metadata that all objects share ([ParseObjectMeta], [PartialObjectMetadata],
//     [AppendWithResourceVersion]).
//   - The kinds: a [Schema] is compiled once per built-in kind from the struct tags of its Go type.
//     It transcodes Protobuf to JSON and CBOR exactly as the apiserver prints the decoded object,
//     validates objects, and reads the values of field selectors.
//
// "Raw" bytes are one message without envelope and TypeMeta: a list item, or the field raw of an
// envelope.
//
// Invariants:
//
//   - A field of an object that the schema does not have must give [ErrUnknownField]: no field of an
//     object is ever dropped silently. Unknown fields of the outer forms are ignored, as by
//     apimachinery's decoders.
//   - No input may cause a panic, unbounded recursion, or memory use beyond a small multiple of its
//     length.
//   - Inputs are never modified; a returned []byte aliases its input.
//   - An object that passes [Schema.Check] must encode without error with [Schema.AppendJSON] and
//     [Schema.AppendCBOR].
//
// The Go types of k8s.io/api and its siblings serve as schema only. The package does not decode
// JSON, does not implement HTTP, and does not print Tables.
package proto
