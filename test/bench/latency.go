package main

import (
	"context"
	"net/http"
)

// latencyScenarios returns the requests that a single client repeats, to measure their latency: consistent lists, for
// which Sluice proves that its state is current, and gets of the most recent version, which it passes. An update of
// another resource precedes each list because in a cluster the current resource version rises
// without the pods.
func latencyScenarios(o *options) []*scenario {
	var all []*scenario
	for _, churn := range o.churns {
		list := reads{most: max(1, o.lists/o.rounds), before: (*world).updateOther, query: func(_ *world, t *target, _ int) query {
			return query{path: t.path("/api/v1/pods"), header: http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}}}
		}}
		get := reads{most: max(1, o.gets/o.rounds), query: func(w *world, t *target, _ int) query {
			return query{path: t.path(w.paths[0]), header: http.Header{"Accept": {jsonType}}}
		}}
		all = append(all, list.latency(o, "consistent list", "LIST", churn), get.latency(o, "get", "GET", churn))
	}
	return o.selected(all)
}

// latency makes a scenario of the reads. Before the first round it opens the connections, fills caches, and gives
// Sluice's response to the floor.
func (rs reads) latency(o *options, kind, verb string, churn int) *scenario {
	rs.window = responseLimit // the number of reads ends a round
	return &scenario{
		table: latencyTable, name: withChurn(kind, churn), verb: verb, load: load{churn, true}, clients: 1, rounds: o.rounds, op: rs.op,
		world: func(ctx context.Context, w *world, _ *row) []*target {
			for _, t := range []*target{w.apiserver, w.cached} {
				w.mirror(ctx, t, rs.query(w, t, 0))
			}
			rs.query(w, w.bare, 0).ask(ctx, w.bare.connection(0))
			return []*target{w.apiserver, w.cached, w.bare}
		},
		sum: func(_ *world, r *row, all samples) {
			for target, rounds := range all {
				r.By[target] = &figures{}
				r.By[target].timed(wallsOf(rounds))
			}
			r.Source = merged(all[sluiceName], servedFrom).reasons()
		},
	}
}

// path returns the path of a response at a target: the floor has only one.
func (t *target) path(path string) string {
	if t.name == floorName {
		return floorBodyPath
	}
	return path
}
