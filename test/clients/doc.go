// Package clients runs real, unmodified clients against Sluice in front of a real apiserver:
// client-go's typed, dynamic and metadata clients and informers, controller-runtime's cache, kubectl,
// curl, the JavaScript and Python clients, and clients that stop reading. It compares what they receive
// through Sluice with what they receive from the apiserver directly.
//
// The tests of curl, node, npm and the Python client are skipped where these are not installed.
package clients
