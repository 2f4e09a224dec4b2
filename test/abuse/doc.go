// Package abuse attacks a server over loopback: with credentials that nobody knows, bodies that never end,
// responses that are hardly read, and connections that say nothing. It also has a crowd of well-behaved agents, each
// with a connection of its own.
//
// An [Attack] is what the benchmark runs at full size; tests make an [Attacker] of their own size. Every attacker is
// bounded in connections and streams, and ends with its context. A [Target] must be on a loopback address.
//
// Attackers speak HTTP/2 frames over a TLS connection instead of using net/http, which takes ten times the memory
// for each stream, reads what it receives, and keeps to the rules.
package abuse
