// Package proxy is the HTTP side of Sluice put together: the listeners, the
// chain that every request takes, and the end of it all.
//
// A request is parsed once ([sluice/proxy/request]), its caller is verified
// ([sluice/proxy/auth]), and it is served out of the cache
// ([sluice/proxy/serve]) or passed upstream ([sluice/proxy/forward]). A
// [Gateway] holds the parts; [Gateway.Serve] runs a listener until it is told
// to drain.
package proxy
