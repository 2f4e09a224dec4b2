// Package wire is a faulty connection to an apiserver, under the control of a test.
//
// A [Link] is a TCP proxy: it cuts, refuses and delays connections. A [Lag] is an HTTP
// proxy behind it that delays watches and nothing else, each by a different time. Only with a lag
// does a gateway learn of a version from one request while the events up to it are still on their
// way on another.
package wire
