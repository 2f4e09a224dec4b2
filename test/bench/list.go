package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// listing is a list that clients repeat at each server.
type listing struct {
	name   string
	path   string // of the first request
	second bool   // makes the clients read the second page of the list at path
	header http.Header
	// clients repeat it in each round, until its window ends or they have made most requests; 0 means any number.
	clients, rounds, most int
	window                time.Duration
	sluiceOnly            bool
	// after changes an object of another resource before each read, as in a cluster.
	after bool
}

// listScenarios returns the lists of the pods of all namespaces at any version (resourceVersion=0) that --only selects.
func listScenarios(o *options) []*scenario {
	var all []*scenario
	for _, name := range []string{"json", "protobuf", "table"} {
		for _, encoding := range []string{identity, "gzip"} {
			for _, n := range o.clients {
				all = append(all, listing{
					name: fmt.Sprintf("list %s %s x%d", name, encoding, n), path: "/api/v1/pods?resourceVersion=0",
					header: accepting(formatOf(name).accept, encoding), clients: n, rounds: o.rounds, window: o.window,
				}.scenario())
			}
		}
	}
	return o.selected(all)
}

// warmLists is how many lists it takes until Sluice has made all memos.
const warmLists = 3

// scenario makes a scenario of the list. Before the first round it connects all clients, measures Sluice's first
// response, and gives it to the floor.
func (c listing) scenario() *scenario {
	path := map[string]string{floorName: floorBodyPath} // by target
	var first *usage
	rs := reads{window: c.window, most: c.most, query: func(_ *world, t *target, _ int) query {
		return query{path: path[t.name], header: c.header}
	}}
	if c.after {
		rs.before = (*world).updateOther
	}
	return &scenario{
		table: listTable, verb: "LIST", name: c.name, clients: c.clients, rounds: c.rounds, op: rs.op,
		world: func(ctx context.Context, w *world, _ *row) []*target {
			targets := w.targets()
			if c.sluiceOnly {
				targets = []*target{w.cached}
			}
			for _, t := range targets {
				t.connect(ctx, c.clients)
				if t != w.bare {
					path[t.name] = c.pathAt(ctx, t)
				}
			}
			m := w.meter()
			for i := range warmLists {
				got := must(w.cached.connection(0).Do(ctx, harness.Request{Path: path[sluiceName], Header: c.header}))
				if i > 0 {
					continue
				}
				if first = m.read(); w.floor != nil {
					w.floor.put(floorBodyPath, got)
				}
			}
			return targets
		},
		figures: func(target string, rounds []*sample) *figures {
			f := costFigures(target, rounds, c.after)
			if target == sluiceName {
				f.First, f.Peak = first.cpu[target].Seconds(), max(f.Peak, first.peak[target])
			}
			return f
		},
	}
}

// pathAt returns the path of the list at a server.
func (c listing) pathAt(ctx context.Context, t *target) string {
	if !c.second {
		return c.path
	}
	got := must(t.connection(0).Do(ctx, harness.Request{Path: c.path, Header: c.header}))
	var list metav1.List
	check(json.Unmarshal(got.Body, &list))
	return c.path + "&continue=" + url.QueryEscape(list.Continue)
}

// accepting returns the header of a request for a media type in a content encoding.
func accepting(accept, encoding string) http.Header {
	h := http.Header{"Accept": {accept}}
	if encoding != identity {
		h.Set("Accept-Encoding", encoding)
	}
	return h
}
