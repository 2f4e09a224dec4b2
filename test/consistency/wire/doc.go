// Package wire is a bad connection to an apiserver, at the test's command.
//
// A [Link] is a TCP proxy: it cuts, refuses, stalls and delays connections,
// all alike. A [Lag] is an HTTP proxy behind it that holds back watches but
// nothing else, each by another time: only then does a gateway hear of a
// version from one request while the events up to it are still on their way on
// another.
package wire
