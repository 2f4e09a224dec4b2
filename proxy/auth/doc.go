// Package auth authenticates callers and authorizes reads from the cache.
//
// [Authenticator] verifies bearer tokens by TokenReview and client certificates against a configured
// CA. [Authorizer] checks access by SubjectAccessReview. Both are built from k8s.io/apiserver, cache
// results for seconds, and fail closed: a caller that cannot be verified is
// [request.Unauthenticated], and a read that is not allowed is not served from the cache. The request
// is then forwarded unchanged, and the apiserver decides.
package auth
