package flowcontrol

import "sluice/proxy/request"

// Class is a kind of requests that has places of its own. The value is its label in metrics.
type Class string

// The classes.
const (
	Reads    Class = "reads"    // gets, lists, and other requests that change nothing
	Writes   Class = "writes"   // requests that change objects
	Leases   Class = "leases"   // reads and writes of single leases, by which nodes and leaders stay alive
	Watches  Class = "watches"  // watches, served from the cache or forwarded
	Sessions Class = "sessions" // exec, attach, port-forward, logs and proxied connections
)

var classes = []Class{Reads, Writes, Leases, Watches, Sessions}

// ClassOf returns the class of a request.
func ClassOf(info *request.Info) Class {
	switch {
	case info.Upgrade || info.Proxied():
		return Sessions
	case info.APIGroup == "coordination.k8s.io" && info.Resource == "leases" && info.Verb != "watch" && info.Verb != "list" && info.Verb != "deletecollection":
		return Leases
	case info.Verb == "watch":
		return Watches
	case info.Verb == "get" || info.Verb == "list" || info.Verb == "head" || info.Verb == "options":
		return Reads
	}
	return Writes
}

// queues reports whether requests may wait for a place. Watches and sessions last too long for that.
func (c Class) queues() bool { return c != Watches && c != Sessions }

// changes reports whether the requests of a class count for the rate of writes.
func (c Class) changes() bool { return c == Writes || c == Leases }
