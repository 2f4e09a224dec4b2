// Package proto reads and writes Kubernetes Protobuf where it lies: in bytes,
// without building objects.
//
// Three layers, each usable alone:
//
//   - The outer forms: the envelope ([ParseEnvelope], [AppendEnvelope]) that wraps
//     every object, watch frames ([ParseEvent], [AppendEvent]), lists
//     ([Items], [AppendListMeta]).
//   - What all objects share: their metadata ([ParseObjectMeta], [PartialObjectMetadata],
//     [AppendWithResourceVersion], [AppendWithoutManagedFields]).
//   - The kinds: a [Schema] is the plan of one built-in kind, compiled once
//     from the struct tags of its Go type. It turns wire bytes into JSON and
//     CBOR exactly as the apiserver prints the decoded object, checks that
//     bytes hold nothing the plan does not know, and reads out the values
//     of field selectors.
//
// "Raw" bytes are one message without envelope and without TypeMeta, as in
// lists and in the envelope's raw field.
//
// Invariants:
//
//   - A field that the plan does not know must give [ErrUnknownField]. Nothing
//     is ever dropped in silence.
//   - No input may cause a panic, unbounded recursion or memory beyond a small
//     multiple of its length.
//   - Inputs are never changed; what is handed out as []byte aliases them.
//   - What [Schema.Check] accepts, [Schema.AppendJSON] and
//     [Schema.AppendCBOR] encode without error.
//
// The Go types of k8s.io/api and its siblings are the schema, nothing more: no
// object of those types is made on behalf of a request. The package does not
// decode JSON, does not know HTTP, and does not encode Tables.
package proto
