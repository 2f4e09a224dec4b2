// Package compare compares what Sluice serves of a resource with what the apiserver has, object by object: it lists the cache of
// Sluice, and then the same resource version at the apiserver. Of each object it keeps the name, the version and a hash.
package compare
