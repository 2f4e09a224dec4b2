// Package request holds what a request asks for: one [Info], parsed once where
// the request comes in and carried on in its context.
//
// Paths are parsed by the apiserver's own code, so that what is authorized and
// served here is what the apiserver would have taken the request for.
// [ListOptions] are the query parameters of reads, by the apiserver's rules;
// what they cannot express exactly is left to the upstream.
package request
