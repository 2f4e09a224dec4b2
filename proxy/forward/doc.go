// Package forward passes requests to the upstream apiserver and its responses back to the client,
// byte for byte. It handles every request that is not served from the cache.
//
// The apiserver authorizes passed requests. A bearer token is passed as received. A client that
// authenticated with a certificate is named in request headers (impersonation or front proxy), on a
// connection that carries Sluice's own credentials; these credentials serve no other purpose here.
// Invariant: identity headers are set by Sluice only, copies sent by clients never pass.
//
// Package transcode, below, transcodes request bodies and responses when the upstream does not
// support a format that the client uses. Unless it does, no body is buffered here.
package forward
