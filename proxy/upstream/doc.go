// Package upstream is the way to the apiserver: its address, the transports
// that lead there, and the credentials that go with them.
//
// There are two families of transport. Those for callers carry no credentials
// of Sluice; the caller's own travel in the request. Those of Sluice itself
// carry its credentials from the kubeconfig and must only be used for its own
// requests and for requests that name their caller by headers.
package upstream
