// Package codec says in which format a client is to be answered and writes objects, lists, events and errors in it,
// byte for byte as kube-apiserver does.
//
// The few types, in the order in which a request meets them:
//
//   - [Negotiate] turns a [Client]'s wishes and a [Target] into a [Decision]: a [Format], or a refusal, and the format
//     in which any error to that client is written.
//   - [Status] is such an error, and the catalogue of those a gateway may have to give.
//   - [Resource] describes what the stored bytes are; [NewWriter] makes the [Writer] that turns them into one Format.
//   - [Transcode] turns whole bodies from one encoding into another, for requests that pass.
//
// Invariants. Everything appends to a slice the caller owns and returns it; nothing is written elsewhere, nothing is
// kept. A Format is comparable and canonical: two that mean the same bytes are equal, so it must be used as a memo key.
// A Writer must not be changed after it was made and is then safe for concurrent use. What cannot be converted exactly
// is refused with [ErrUnsupported]; nothing is ever dropped or approximated.
//
// The package knows bytes, not HTTP: it imports neither net/http nor anything of cache or proxy, and the leaves under it
// (json, cbor, yaml, proto, table, splice) never import it. The rules it follows are those measured at the real server;
// where a comment says "wire.md 1.4" it means that section of the record of them.
package codec
