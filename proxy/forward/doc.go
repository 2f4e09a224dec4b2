// Package forward passes requests to the upstream and the answers back, byte
// for byte: whatever is not served out of the cache.
//
// The apiserver decides what a passed request may do. A bearer token travels
// as it came. A caller known by certificate is named in headers, which only
// Sluice may set: inbound copies never get through. Sluice's own credentials
// are used for that and for nothing else.
package forward
