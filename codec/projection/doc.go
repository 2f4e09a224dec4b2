// Package projection parses the projections of objects that the media type parameters keep and drop ask for:
//
//	Accept: application/json;keep=spec.nodeName+status.podIP
//	Accept: application/json;drop=metadata.managedFields
//
// Paths are separated by "+" (KEP-5958). A path is names with points between them; [*] stands for each element of a
// list or value of a map, and [key] for one value of a map:
//
//	spec.containers[*].image
//	metadata.annotations[example.com/owner]
//
// An object on the way to a path stays, without the fields that no path names: it may be empty. A list on the way keeps
// all of its elements. A value on the way that is neither is left out by keep, and unchanged by drop.
package projection
