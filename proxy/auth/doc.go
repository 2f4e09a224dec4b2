// Package auth authenticates callers and authorizes reads from the cache.
//
// [Authenticator] verifies front-proxy headers, client certificates and bearer tokens, in the order of
// the apiserver. [Authorizer] checks access by SubjectAccessReview. [Access] combines both for the
// handlers of reads and watches.
//
// [Self] stands in for both kinds of reviews where Sluice serves nobody but the user of its own
// credentials, and so needs no right to make them.
//
// These invariants must hold:
//
//   - Everything fails closed. A caller that cannot be verified is [request.Unauthenticated], and a
//     read that is not allowed is not served from the cache. The request is then forwarded unchanged,
//     and the apiserver decides.
//   - Reviews are bounded: equal ones share one request to the apiserver, results are kept for seconds
//     within a number of bytes, and a number of reviews runs at the same time: a quarter of them for callers
//     and accesses that were allowed before, and three quarters of the others at most for one address or user.
//   - A change of an RBAC object invalidates the results of access reviews ([Authorizer.Run]).
package auth
