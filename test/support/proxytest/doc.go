// Package proxytest provides an HTTP server on in-memory connections, for tests that run in a
// testing/synctest bubble, where real sockets would keep time from advancing.
package proxytest
