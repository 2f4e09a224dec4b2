// Package request parses API requests: one [Info] per request, carried in its context, of three values: [Parsed] is the
// request, parsed when it arrives, [Identity] its caller, and [Record] its course.
//
// The apiserver's own code parses paths, so that Sluice authorizes and serves the same read as
// the apiserver would. [ListOptions] holds the query parameters of reads, parsed by the apiserver's rules.
package request
