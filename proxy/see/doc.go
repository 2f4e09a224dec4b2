// Package see is the status page of Sluice: its state, in one sentence and in figures, for operators.
//
// A Sampler gathers the metrics of the process, so that the page never counts anything a second time, and keeps the
// last quarter of an hour of a few counters. Facts is a snapshot of both, Judge says in words how Sluice is, and
// Handler serves pages, the same as JSON, and newer values as a stream of events. Nothing here shows an
// object or a credential. Names of objects, queries and the Accept header of a request are shown only by Why, to a reader
// that asks about them or may make the request; names of users only if Options.Names is set.
package see
