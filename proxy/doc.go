// Package proxy is the HTTP server of Sluice: the listener, the filter chain that every request
// passes, and graceful shutdown.
//
// A request is parsed once ([sluice/proxy/request]), authenticated ([sluice/proxy/auth]), admitted
// ([sluice/proxy/flowcontrol]), and either served from the watch cache ([sluice/proxy/serve]) or
// forwarded to the apiserver ([sluice/proxy/forward]). A [Gateway] is the handler for all of this;
// [Gateway.Serve] runs it on a listener until its context ends, and then drains it.
package proxy
