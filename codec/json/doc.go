// Package json reads and rewrites JSON objects where they lie: in bytes,
// without building anything.
//
// A [Value] is the raw bytes of one JSON value. Its methods look inside it
// lazily, alias it wherever they can, and cost what they look at. Around it
// stand the few whole-object operations that a gateway needs: cutting out an
// object's metadata, leaving out its managedFields, setting its resource
// version, taking its kind and apiVersion off and putting them on, printing it
// indented.
//
// Invariants:
//
//   - Bytes from outside must pass [Valid] once, at the border. Everything
//     else assumes well-formed JSON. On malformed bytes it still must neither
//     panic nor loop nor read out of bounds: it answers "absent", "invalid"
//     or an error.
//   - Nothing here must change its input, and what aliases the input must
//     not be changed by the caller.
//   - Text handed out is always valid UTF-8: a byte that is not, and a lone
//     surrogate, become U+FFFD, as encoding/json and the apiserver have it.
//
// The package deliberately does not decode into Go types, knows no kinds
// beyond the metadata that all objects share, and resolves no duplicate
// member names: lookups take the first.
package json
