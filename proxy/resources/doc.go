// Package resources holds the cached resources: for each resource that is read and may be cached, a
// reflector and the store that it fills.
//
// [Registry.Lookup] returns a [CachedResource], which is a store in sync with the description
// by which it is served, or the reason why there is none. The first Lookup of a resource starts its
// reflector; no caller waits for the store. A resource is described anew for every store, so that a
// changed or recreated CRD is never served by the CRD before.
package resources
