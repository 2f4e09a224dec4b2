// Package resources keeps copies of the upstream's resources: for each that is
// asked for and may be cached, a feed that fills its store.
//
// A [CachedResource] is a store in sync together with what has to be known to
// serve it. [Registry.CachedResource] returns it, or says why there is none, and
// starts the feed on first demand; nobody waits for it. What a resource is (its
// kind, its scope, how its lists look) is learnt from the upstream each time a
// store is built, so that a changed or re-created CRD is never served by what
// held before.
package resources
