// Package limits bounds what callers take of Sluice and of the apiserver: bytes, places and connections.
//
// A [Queue] gives out places, for which callers wait: at the apiserver, for reviews, for the processors. Each queue is a total;
// callers are told apart only where they compete for it.
package limits
