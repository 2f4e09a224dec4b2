package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/test/harness"
)

// proof is a consistent read of pods by concurrent readers: a list without a resource version,
// or a streaming list until the bookmark after its initial events. Before Sluice responds it must
// prove that its state is current.
type proof struct {
	name      string
	scope     scope
	paged     bool // with a limit, until there is no continue token
	streaming bool
	busy      bool // pods are updated meanwhile
}

// scope is the part of the pods that a reader selects.
type scope int

const (
	allPods scope = iota
	byNamespace
	byNode
)

// proofShapes are the shapes of all cases; streaming lists have no pages.
var proofShapes = []proof{
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
	// enough reads in enoughTime for each target end the rounds: shorter cases have too few of the kernel's units of
	// CPU time.
	enough, enoughTime = 20, time.Second
	// memoryLimit bounds the memory that the lists of one case may take in the apiserver, of which each pod takes podMemory
	// until its list is written: half of a machine of 24 GB, which the clients and the other servers share.
	memoryLimit, podMemory = 12 << 30, 8 << 10
)

// proofScenarios returns the cases, in ascending order of readers.
func proofScenarios(o *options) []*scenario {
	var all []*scenario
	for _, shape := range proofShapes {
		for _, l := range []load{{quietRate, false}, {busyRate, true}} {
			for _, n := range o.readers {
				all = append(all, shape.scenario(o, n, l))
			}
		}
	}
	return o.selected(all)
}

func (p proof) scenario(o *options, readers int, l load) *scenario {
	p.busy = l.pods
	name := fmt.Sprintf("proof %s %d x%d", p.name, o.pods, readers)
	if l.pods {
		name += fmt.Sprintf(" +%d/s", busyRate)
	}
	s := &scenario{
		table: proofTable, name: name, verb: "LIST", load: l,
		clients: readers, rounds: o.rounds, enough: enoughProofs,
		op: reads{query: p.query, window: o.window}.op, figures: proofFigures,
	}
	if p.streaming {
		s.verb = "WATCH"
	}
	s.world = func(ctx context.Context, w *world, r *row) []*target {
		w.priceUpdates(ctx, l.pods)
		targets := p.targets(w, s, r)
		for _, t := range targets {
			t.connect(ctx, readers)
			p.query(w, t, 0).ask(ctx, t.connections[0])
		}
		return targets
	}
	return s
}

// proofs measures consistent reads, also at a Sluice whose upstream is the first one.
func (w *world) proofs(ctx context.Context, r *report) {
	all := proofScenarios(w.options)
	if len(all) == 0 {
		return
	}
	w.withSluice(twoTiersName, user, harness.SluiceOptions{Upstream: w.cached.sluice.RESTConfig("sluice")}, func(t *target) {
		w.tiers = t
		w.awaitSync(ctx, t.sluice)
		w.runAll(ctx, r, all)
	})
}

// targets leaves the apiserver out if the lists would take too much of its memory.
func (p proof) targets(w *world, s *scenario, r *row) []*target {
	others := []*target{w.cached, w.tiers}
	if s.clients == 1 && !p.streaming {
		others = append(others, w.bare) // which relays the read
	}
	needs := podMemory * p.selected(w, 0) * s.clients
	if p.streaming || p.paged || needs <= memoryLimit {
		return append([]*target{w.apiserver}, others...)
	}
	r.Note = fmt.Sprintf("apiserver skipped: needs %d GB", needs>>30)
	return others
}

// query is what a reader asks, as client-go does with Protobuf. Readers select different namespaces and nodes.
func (p proof) query(w *world, _ *target, reader int) query {
	q := query{
		path: "/api/v1/pods", header: http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}},
		pages: p.paged, objects: p.selected(w, reader), unpack: true,
	}
	selector := ""
	switch p.scope {
	case byNamespace:
		q.path = "/api/v1/namespaces/" + namespaceName(reader%namespaces) + "/pods"
	case byNode:
		selector = "&fieldSelector=spec.nodeName%3D" + w.node(reader)
	}
	switch {
	case p.streaming:
		q.path += "?" + streamingQuery + selector
		if q.frames = splitFrames; p.busy {
			q.updates = busyRate * int(responseLimit.Seconds())
		}
	case p.paged: // client-go's default of 500, or a quarter of a small cluster
		q.path += fmt.Sprintf("?limit=%d%s", max(1, min(500, w.pods.count/4)), selector)
	default:
		q.path += "?resourceVersion=" + selector
	}
	return q
}

// selected returns the number of pods that a reader selects.
func (p proof) selected(w *world, reader int) int {
	switch p.scope {
	case byNamespace:
		return namespaceSize(w.pods.count, namespaces, reader%namespaces)
	case byNode:
		return w.onNode[w.node(reader)]
	}
	return w.pods.count
}

// enoughProofs reports whether each target that is measured has had enough reads and time.
func enoughProofs(all samples) bool {
	for _, rounds := range all {
		var wall time.Duration
		for _, s := range rounds {
			wall += s.wall
		}
		if len(wallsOf(rounds)) < enough || wall < enoughTime {
			return false
		}
	}
	return len(all) > 0
}

// proofFigures divides total CPU by all reads, because the kernel's unit of CPU time is much more than a short read.
func proofFigures(target string, rounds []*sample) *figures {
	f := &figures{}
	f.timed(wallsOf(rounds))
	for _, s := range rounds {
		f.Upstream += s.plane.Seconds() / float64(f.Requests)
		switch target {
		case apiserverName:
		case floorName:
			f.Own += s.cpu[floorName].Seconds() / float64(f.Requests)
		default:
			f.Own += (s.cpu[sluiceName] + s.cpu[twoTiersName]).Seconds() / float64(f.Requests)
		}
		f.Wall += s.wall.Seconds()
		f.Charged += s.charged
	}
	if sources, proofs := counts(rounds); len(sources) > 0 {
		f.Source, f.Proofs = sources.String(), proofs.reasons()
	}
	return f
}
