// Package see is the status page of Sluice, for operators. A Sampler gathers the metrics of the process, so that the page
// counts nothing a second time; Facts is its snapshot, Judge says in a sentence how Sluice is, and Handler serves pages and
// the same as JSON. Nothing here shows an object or a credential; names of users only if Options.Names is set.
package see
