// Package negotiate chooses the format of a response as kube-apiserver does: from the Accept
// header, its parameters (as, g, v, pretty, drop), the query parameters pretty and includeObject,
// and the User-Agent.
//
//   - [Format] returns the format of a get, list or watch, or none where the apiserver would answer
//     with an error. This package has no wording for such errors: the request must be passed to the
//     apiserver, which words its own.
//   - [ErrorFormat] returns the format of an error response.
//   - [UpstreamAccept] rewrites an Accept header for the apiserver.
//
// The rules are those of docs/wire.md, section 1; comments name its paragraphs. The package knows
// header values, not HTTP. It stands above package codec, whose [codec.Format] is the result.
package negotiate
