// Package handshake makes the TLS handshakes of a listener, before its server sees the connections.
//
// net/http makes a handshake in the goroutine that serves the connection. That needs a stack of 16 KiB, which
// never shrinks: serving HTTP/2 takes more than a quarter of it. Made elsewhere, it leaves 8 KiB for each
// of thousands of connections. It also lets failures be counted, and only some of them be logged, and handshakes
// compute by turns.
package handshake
