// Package codec writes objects, lists, watch events and errors in the formats of the Kubernetes API, byte
// for byte as kube-apiserver does.
//
// The types, in the order in which a request meets them:
//
//   - [Format] is an encoding, a shape and the options of both; package negotiate chooses it.
//   - [Resource] describes a resource and the form of its stored bytes.
//   - [NewWriter] returns the [Writer] from that form to one Format.
//   - [AppendStatus] writes errors, and [AppendFromJSON] converts whole bodies.
//
// Package negotiate stands above this one. Below it, framing puts objects into responses, bookmark makes
// the objects of bookmarks, table has the columns of Tables, splice compresses streams in blocks, and
// json, cbor, yaml and proto are the encodings; none of them imports it.
//
// Invariants. Every function appends to a slice of its caller and returns it; nothing else is written and
// nothing is kept. A Format is canonical: two Formats that give the same bytes are equal, so that it
// serves as a memo key. A Writer must not be changed after it was made and is then safe for concurrent
// use. A conversion that cannot be exact is refused with [ErrUnsupported]; nothing is dropped or
// approximated.
//
// The package knows bytes, not HTTP. Its rules were measured at a real apiserver: a comment that says
// "wire.md 1.4" refers to that section of docs/wire.md.
package codec
