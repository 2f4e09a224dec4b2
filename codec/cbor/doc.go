// Package cbor is the apiserver's dialect of CBOR: it turns JSON into it for
// answers, and it into JSON for request bodies.
//
// Answers follow the profile of apimachinery's CBOR serializer: strings and
// member names are byte strings, lengths are definite, integers are CBOR
// integers, other numbers take the shortest of the three float widths that
// keeps their value, and 1.0 is not 1. A whole item begins with the
// self-described tag, [SelfDescribed], which the Append functions leave to
// the caller. Members keep the order they had in JSON; the apiserver
// shuffles them, so nobody can rely on any.
//
// Bodies are decoded by fxamacker/cbor in the mode the apiserver uses, so
// that what it would refuse is refused here.
//
// Invariants:
//
//   - What AppendFromJSON appends is valid CBOR, without duplicate names even
//     where the JSON had them.
//   - Bytes from outside are checked for being well-formed before anything is
//     allocated for them.
//
// The package knows no kinds. What only a schema can tell stays as JSON has
// it: base64 text is text, not a tagged byte string, and a float that JSON
// spells 1 is an integer.
package cbor
