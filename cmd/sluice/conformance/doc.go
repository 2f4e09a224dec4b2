// Package conformance asks a Kubernetes API, through whatever stands before it, the questions that clients
// ask, and checks that the answers keep the laws of the API: lists, pages, versions, watches, streaming
// lists, negotiation, compression. Each law is a Row. Load balancers, gateways and tunnels break some of
// them without an error that anybody sees.
//
// It only reads (GET), with the identity that it is given, of resources that it finds by discovery. What
// the identity may not read is skipped.
package conformance
