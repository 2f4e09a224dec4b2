package main

import (
	"context"
	"fmt"
	"net/http"
)

// concurrentLists is how many lists run at once in the section "lists", as in the load test of Kubernetes.
const concurrentLists = 10

// scaleOfLists measures concurrent lists of large ConfigMaps in every format that whole objects have, first at Sluice:
// the apiserver keeps a large heap, and would need tens of gigabytes for other formats.
func scaleOfLists(ctx context.Context, w *world, r *report) {
	var all []*scenario
	for _, row := range []struct {
		at      *target
		formats []string
	}{{w.cached, []string{"json", "protobuf", "cbor", "yaml"}}, {w.apiserver, []string{"json", "protobuf"}}} {
		for _, name := range row.formats {
			if w.only.matches(name) {
				all = append(all, atOnce(w.options, row.at, formatOf(name), w.pods.path))
			}
		}
	}
	w.runAll(ctx, r, all)
}

// atOnce lists at a target in rounds, each client once in each.
func atOnce(o *options, at *target, f format, path string) *scenario {
	rs := reads{most: 1, query: func(*world, *target, int) query {
		return query{path: path + "?resourceVersion=0", header: http.Header{"Accept": {f.accept}}}
	}}
	return &scenario{
		table: atOnceTable, name: fmt.Sprintf("%d at the %s", concurrentLists, at.name),
		clients: concurrentLists, rounds: o.rounds, op: rs.op,
		world: func(ctx context.Context, _ *world, _ *row) []*target {
			at.connect(ctx, concurrentLists)
			return []*target{at}
		},
		sum: func(_ *world, r *row, all samples) {
			var walls, cpus []float64
			got := &figures{}
			for _, s := range all[at.name] {
				walls, cpus = append(walls, s.wall.Seconds()), append(cpus, s.cpu[at.name].Seconds())
				got.Bytes, got.Peak = float64(s.bytes), max(got.Peak, s.peak[at.name])
			}
			got.Seconds, got.SecondsSpread = median(walls)
			got.CPU, got.CPUSpread = median(cpus)
			r.What, r.Target, r.By[at.name] = f.name, at.name, got
		},
	}
}
