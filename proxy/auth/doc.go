// Package auth says who is calling and whether they may see what they ask for.
//
// [Authenticator] verifies bearer tokens by TokenReview and client
// certificates against a configured CA; [Authorizer] asks by
// SubjectAccessReview. Both are put together from k8s.io/apiserver's parts, with
// short caches, and both fail closed: who is not verified is
// [request.Unauthenticated], what is not allowed is not served out of the cache. The
// request then goes upstream as it came, where the apiserver decides.
package auth
