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
//
// How long a verdict holds, in the order in which the times pass:
//
//	placeTimeout      30 s  a review waits for its place
//	reviewTimeout     10 s  the apiserver has for a review; MayRead gives up after twice that
//	stalePatience      1 s  a caller waits for the repetition of a review whose last result can be used
//	failedPause        1 s  until a review that failed is repeated
//	TokenTTL, AllowTTL, DenyTTL   a result is kept, and a positive one for as long again while reviews fail or are slow
//	staleFor                after that, while reviews fail, for reads of any version and admin paths; package watch keeps open watches
//	                        for its doubtfulFor
//	settleTime         1 s  after a change of an RBAC object, until results count again
//	longestPace       10 s  the same while RBAC objects change all the time
//	recentChange      10 s  a new watch is rechecked for an earlier change
//	rejectedFor        1 m  a client certificate that proves nothing stays rejected on its connection
package auth
