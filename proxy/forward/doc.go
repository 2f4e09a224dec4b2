// Package forward passes requests to the upstream and the answers back, byte
// for byte: whatever is not served out of the cache.
//
// The apiserver decides what a passed request may do. A bearer token travels
// as it came. A caller known by certificate is named in headers, which only
// Sluice may set: inbound copies never get through. Sluice's own credentials
// are used for that and for nothing else.
//
// An upstream that lacks a format is made up for: a translation asks it again
// in JSON and converts bodies, answers and watch streams. Nothing is converted
// that the upstream can do itself, nothing is done twice, and all that is held
// in memory is bounded.
package forward
