// Package request parses API requests: one [Info] per request, parsed when the request arrives and
// carried in its context.
//
// The apiserver's own code parses paths, so that Sluice authorizes and serves the same read as
// the apiserver would. [ListOptions] holds the query parameters of reads, parsed by the apiserver's rules.
package request
