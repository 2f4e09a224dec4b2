// Package json reads and rewrites JSON objects in place: it works on the bytes and builds no
// values, except for [PartialObjectMetadata].
//
// A [Value] is the raw bytes of one JSON value. Its methods parse lazily, alias the input where
// they can, and read no more of it than they need. The Append functions perform the operations on whole
// objects that list and watch responses need: [AppendProjected], [AppendWithResourceVersion],
// [AppendWithTypeMeta], [AppendIndent] and [AppendCompact]. [AppendString] writes strings.
//
// Invariants:
//
//   - Bytes from outside must pass [Valid] once. Every other function assumes well-formed JSON. For
//     malformed input it must not panic, loop or read out of bounds; it may report an absent value
//     or an error, or produce malformed output.
//   - No function changes its input. Callers must not change the bytes that a result aliases.
//   - Strings are always returned as valid UTF-8: each invalid byte, and each lone surrogate,
//     becomes U+FFFD, as in encoding/json and the apiserver.
//
// [Valid], [AppendCompact] and [AppendIndent] use jsontext.
//
// The package knows no kinds beyond the metadata that all objects share, and does not resolve duplicate names:
// lookups return the first.
package json
