// Package serve answers reads out of the cache.
//
// [Handler] plans each request: it is served only if the answer is exactly the
// one that the apiserver would give, to a caller who may see all of it; else it
// goes on to the next handler, which passes it upstream, with the reason noted.
//
// A list is one snapshot, a watch one cursor into the history. Neither queues
// anything for a client: what a slow one does not take stays where it is.
//
// The objects of a whole segment are encoded and compressed once for all who may
// see all of it, what is selected for each caller alone.
//
// [Features] are off unless configured: shards of lists and watches, answers
// without managedFields, entity tags.
package serve
