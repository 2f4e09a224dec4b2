// Package upstream connects Sluice to the apiserver: its address, the transports to it, and the
// credentials of each transport.
//
// There are two families of transports. Those for callers carry no credentials of Sluice: the
// caller's own credentials are in the request. Those of Sluice carry the credentials of its
// kubeconfig, or its front-proxy certificate, and must only be used for Sluice's own requests and for
// requests that name their caller in headers.
package upstream
