// Package proxytest gives the tests of the proxy packages a server in memory, so
// that they can run in a bubble of virtual time. For tests only.
package proxytest
