package flowcontrol

import "sluice/proxy/request"

// Lasts reports whether a request goes on for as long as its client likes: a watch, or a session such as
// exec, attach, port-forward, logs, and whatever is proxied to nodes, pods and services.
func Lasts(info *request.Info) bool { return info.Upgrade || info.Proxied() || info.Verb == "watch" }
