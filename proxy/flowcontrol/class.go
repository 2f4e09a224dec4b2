package flowcontrol

import "sluice/proxy/request"

// Class is a kind of requests that has places of its own. The value is its label in metrics.
type Class string

// The classes.
const (
	Reads    Class = "reads"    // gets, lists, and other requests that change nothing
	Writes   Class = "writes"   // requests that change objects, and all requests for leases
	Watches  Class = "watches"  // watches, served from the cache or forwarded
	Sessions Class = "sessions" // exec, attach, port-forward, logs and proxied connections
)

var classes = []Class{Reads, Writes, Watches, Sessions}

// ClassOf returns the class of a request.
func ClassOf(info *request.Info) Class {
	switch {
	case info.Upgrade || info.Subresource == "log" || info.Subresource == "proxy":
		return Sessions
	case info.APIGroup == "coordination.k8s.io" && info.Resource == "leases" && info.Verb != "watch" && info.Verb != "list":
		return Writes // leader election reads before it writes
	case info.Verb == "watch":
		return Watches
	case info.Verb == "get" || info.Verb == "list" || info.Verb == "head" || info.Verb == "options":
		return Reads
	}
	return Writes
}

// queues reports whether requests may wait for a place. Watches and sessions last too long for that.
func (c Class) queues() bool { return c == Reads || c == Writes }
