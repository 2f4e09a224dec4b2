// Package compare compares a resource at Sluice and at the apiserver, object by object: it lists the cache of
// Sluice, and then the same resource version at the apiserver. Of each object it keeps the name, the version and a hash.
package compare
