// Package cbor implements the CBOR profile of the apiserver: it transcodes JSON to CBOR for
// responses, and CBOR to JSON for the cache.
//
// Responses follow the encoder of apimachinery's CBOR serializer. Strings and names are byte strings,
// lengths are definite, integers are CBOR integers, other numbers use the shortest of three float widths
// that keeps their value, and 1.0 stays a float. A whole item begins with the self-described tag; the
// Append functions leave [SelfDescribed] to the caller. Members are in some order: the apiserver shuffles
// them.
//
// JSON is converted by way of Go values and apimachinery's coder, in both directions, so that both accept the same.
//
// Invariants:
//
//   - The output of [AppendFromJSON] must be well-formed CBOR without duplicate names, also for JSON
//     that has duplicates.
//   - Bytes from outside must be checked for well-formedness before memory is allocated for them.
//
// The package knows no kinds, so it keeps values that JSON cannot express without a schema: base64 text
// stays text instead of a tagged byte string, and a float that JSON spells 1 becomes an integer.
package cbor
