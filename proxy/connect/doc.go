// Package connect is an HTTP proxy for clients that reach the apiserver by HTTPS_PROXY or by the
// proxy-url of a kubeconfig.
//
//	client -- CONNECT name-of-the-apiserver:443 --> Proxy -- the same connection --> http.Server of the API
//
// A connection to a name of the apiserver is handed to the server of the API, which speaks TLS, HTTP/2
// and upgrades on it as on its own: Proxy opens no connection and sees no plaintext. Other destinations are refused.
//
// Package goproxy dispatches the requests. Its built-in certificate authority, whose key is public, its
// dialers, which obey HTTPS_PROXY, and its forwarding of plain requests, which does not flush watches,
// are not used.
package connect
