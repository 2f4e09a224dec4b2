package main

import (
	"fmt"
	"slices"
)

// proofCase is a consistent read of pods by concurrent readers: a list without a resource version,
// or a streaming list until the bookmark after its initial events. Before Sluice responds it must
// prove that its state is current.
type proofCase struct {
	proofShape
	objects int // pods in the cluster
	readers int // concurrent, each with its own connection
	// busy means updates of pods during the case. Otherwise namespaces are updated, so that the
	// current resource version rises without the pods, as it does in a cluster.
	busy bool
}

// proofShape is what one read requests.
type proofShape struct {
	name      string
	scope     proofScope
	paged     bool // with a limit, until there is no continue token
	streaming bool
}

// proofScope is the part of the pods that a reader selects.
type proofScope int

const (
	allPods proofScope = iota
	byNamespace
	byNode
)

// proofShapes are the shapes of all cases; streaming lists have no pages.
var proofShapes = []proofShape{
	{name: "list"},
	{name: "list namespace", scope: byNamespace},
	{name: "list node", scope: byNode},
	{name: "list pages", paged: true},
	{name: "stream", streaming: true},
	{name: "stream namespace", scope: byNamespace, streaming: true},
	{name: "stream node", scope: byNode, streaming: true},
}

const (
	// quietRate is the number of updates per second of other objects while no pod changes.
	quietRate = 10
	// busyRate is the number of updates per second of pods.
	busyRate = 50
)

// proofCases returns the cases of one size that the options select, in ascending order of readers.
func proofCases(o *options, objects int) []proofCase {
	var all []proofCase
	for _, shape := range proofShapes {
		for _, busy := range []bool{false, true} {
			for _, n := range slices.Sorted(slices.Values(o.readers)) {
				all = append(all, proofCase{shape, objects, n, busy})
			}
		}
	}
	return slices.DeleteFunc(all, func(c proofCase) bool { return !o.only.matches(c.name()) })
}

func (c proofCase) name() string { return fmt.Sprintf("%s x%d", c.prefix(), c.readers) + c.suffix() }

// prefix names the case without its readers and updates.
func (c proofCase) prefix() string { return fmt.Sprintf("proof %s %d", c.proofShape.name, c.objects) }

// suffix names the updates.
func (c proofCase) suffix() string {
	if c.busy {
		return withChurn("", busyRate)
	}
	return ""
}

// verb is the request's verb in Sluice's metrics.
func (c proofCase) verb() string {
	if c.streaming {
		return "WATCH"
	}
	return "LIST"
}

// limit is the page size: client-go's default of 500, or a quarter of a small cluster.
func (c proofCase) limit() int { return max(1, min(500, c.objects/4)) }

// path returns the path of a reader's first request. Readers select different namespaces and nodes.
func (c proofCase) path(e *env, reader int) string {
	path, selector := "/api/v1/pods", ""
	switch c.scope {
	case byNamespace:
		path = "/api/v1/namespaces/" + namespaceName(reader%namespaces) + "/pods"
	case byNode:
		selector = "&fieldSelector=spec.nodeName%3D" + e.node(reader)
	}
	switch {
	case c.streaming:
		return path + "?" + streamingQuery + selector
	case c.paged:
		return fmt.Sprintf("%s?limit=%d%s", path, c.limit(), selector)
	}
	return path + "?resourceVersion=" + selector
}

// selected returns the number of pods that a reader selects.
func (c proofCase) selected(e *env, reader int) int {
	switch c.scope {
	case byNamespace:
		return namespaceSize(c.objects, reader%namespaces)
	case byNode:
		return e.onNode[e.node(reader)]
	}
	return c.objects
}
