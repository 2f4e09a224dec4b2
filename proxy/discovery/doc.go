// Package discovery describes resources of the apiserver: all that is needed to
// store its objects and to serve them in every format.
//
// [Discovery.Describe] returns a [Description] out of the discovery document, the form of an empty
// list, the APIService and, for custom resources, the CRD. The last two are read from etcd, the others are
// answers of handlers, which may lag behind: while they contradict each other, there is no Description.
//
// A Description is immutable. A store keeps the Description by which it was built; [Discovery.Refresh] and
// [Discovery.Verify] compare that Description with the present CRD and decide whether the store can go on:
//
//   - an unchanged CRD changes nothing;
//   - if only printer columns changed, in a single update of the CRD, the store goes on with a new
//     Description;
//   - anything else is [ErrChanged], and the store must be rebuilt, because the new CRD may say that
//     the stored objects have other fields.
package discovery
