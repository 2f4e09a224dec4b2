package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/test/harness"
)

// listing is a list of the pods of all namespaces at any version (resourceVersion=0), or a
// streaming list (sendInitialEvents=true), by clients at once.
type listing struct {
	format
	encoding  string
	streaming bool
}

const (
	// enough is the number of requests per target after which a case that takes long needs no more rounds.
	enough = 20
	// caseTime is how long a case may take before its rounds end early.
	caseTime = 30 * time.Second
	// memoryLimit bounds the memory that the lists of one case may take in the apiserver: half of a 24
	// GB machine, which the clients and the other servers share.
	memoryLimit = 12 << 30
)

// listScenarios returns the lists that the options select, costly ones last because they leave the
// apiserver with a large heap.
func listScenarios(o *options) []*scenario {
	var all, costly []*scenario
	for _, name := range o.formats {
		to := &all
		if formatOf(name).costly {
			to = &costly
		}
		for _, encoding := range o.encodes {
			for _, n := range o.clients {
				for _, churn := range o.churns {
					*to = append(*to, listing{formatOf(name), encoding, false}.scenario(o, n, churn))
				}
			}
		}
	}
	for _, name := range o.streams {
		for _, encoding := range o.encodes {
			for _, n := range o.clients {
				all = append(all, listing{formatOf(name), encoding, true}.scenario(o, n, 0))
			}
		}
	}
	return o.selected(slices.Concat(all, costly))
}

func (l listing) scenario(o *options, clients, churn int) *scenario {
	kind, verb := "list", "LIST"
	if l.streaming {
		kind, verb = "stream", "WATCH"
	}
	var begun time.Time
	var before int64 // Sluice's memory
	s := &scenario{
		table: listTable, verb: verb, load: load{churn, true}, clients: clients, rounds: o.rounds,
		op:        reads{query: l.query, window: o.window}.op,
		name:      withChurn(fmt.Sprintf("%s %s %s x%d", kind, l.format.name, l.encoding, clients), churn),
		tolerates: func(t *target) bool { return t.name == apiserverName },
	}
	s.world = func(ctx context.Context, w *world, r *row) []*target {
		begun, before = time.Now(), w.cached.proc.resident()
		l.prepare(ctx, w, s, r)
		return l.targets(ctx, w, s, r)
	}
	s.enough = func(all samples) bool {
		for _, rounds := range all {
			if len(wallsOf(rounds)) < enough {
				return false
			}
		}
		return time.Since(begun) >= caseTime
	}
	s.sum = func(_ *world, r *row, all samples) {
		first := *r.of(sluiceName)
		for target, rounds := range all {
			r.By[target] = listFigures(target, rounds)
		}
		r.Source = merged(all[sluiceName], servedFrom).String()
		f := r.By[sluiceName]
		f.First, f.Peak = first.First, max(f.Peak, first.Peak)
		f.Extra = max(0, f.Peak-before)
	}
	return s
}

// listFigures makes the figures of a target from the rounds.
func listFigures(target string, rounds []*sample) *figures {
	f := &figures{}
	var each []float64
	for _, s := range rounds {
		each = append(each, s.cost(target).Seconds()/float64(len(s.walls)))
		f.Bytes, f.Coding, f.Peak = float64(s.bytes), s.coding, max(f.Peak, s.peak[target])
	}
	f.CPU, f.CPUSpread = median(each)
	f.timed(wallsOf(rounds))
	return f
}

// withChurn adds the rate of updates to the name of a case.
func withChurn(name string, churn int) string {
	if churn == 0 {
		return name
	}
	return fmt.Sprintf("%s +%d/s", name, churn)
}

func (l listing) query(w *world, t *target, _ int) query {
	q := query{path: "/api/v1/pods?resourceVersion=0", header: l.header()}
	if l.streaming {
		q.path, q.frames, q.objects = "/api/v1/pods?"+streamingQuery, l.frames, w.pods.count
	}
	q.path = t.path(q.path)
	return q
}

func (l listing) header() http.Header {
	h := http.Header{"Accept": {l.accept}}
	if l.streaming {
		h.Set("Accept", l.watch)
	}
	switch l.encoding {
	case identity:
	case "zstd":
		h.Set("Accept-Encoding", "zstd, gzip") // as clients with zstd do, for servers without it
	default:
		h.Set("Accept-Encoding", l.encoding)
	}
	return h
}

// prepare connects all clients, measures Sluice's first response, and gives it to the floor.
func (l listing) prepare(ctx context.Context, w *world, s *scenario, r *row) {
	for _, t := range []*target{w.apiserver, w.cached, w.bare} {
		t.connect(ctx, s.clients)
	}
	m := w.meter()
	w.mirror(ctx, w.cached, l.query(w, w.cached, 0))
	used := m.read()
	r.By[sluiceName] = &figures{First: used.cpu[sluiceName].Seconds(), Peak: used.peak[sluiceName]}
	w.priceUpdates(ctx, s.load)
}

// mirror has a target answer a query, and gives the answer to the floor.
func (w *world) mirror(ctx context.Context, t *target, q query) {
	var text bytes.Buffer
	q.keep = &text
	got := q.ask(ctx, t.connection(0))
	w.floor.put(ctx, floorBodyPath, &harness.Response{Header: got.header, Body: text.Bytes()})
}

// targets leaves the apiserver out if the lists would take too much of its memory or too long, and notes it.
func (l listing) targets(ctx context.Context, w *world, s *scenario, r *row) []*target {
	needs := l.apiserverMemory * int64(w.pods.count)
	if !l.costly {
		needs *= int64(s.clients)
	}
	others := []*target{w.cached, w.bare}
	switch {
	case needs > memoryLimit:
		r.note("apiserver skipped: needs %d GB", needs>>30)
		return others
	case l.costly:
		if f := l.once(ctx, w); f != nil {
			r.By[apiserverName] = f
			r.note("apiserver: one request, uncompressed, without updates")
		} else {
			r.note("apiserver failed")
		}
		return others
	}
	return append([]*target{w.apiserver}, others...)
}

// once measures one list in the format at the apiserver, once per run. It returns nil if the
// apiserver failed.
func (l listing) once(ctx context.Context, w *world) *figures {
	if f, done := w.once[l.format.name]; done {
		return f
	}
	w.once[l.format.name] = nil
	rs := reads{query: listing{l.format, identity, false}.query, most: 1}
	err := try(func() {
		got := rs.op(ctx, w, &scenario{clients: 1}, w.apiserver)
		w.once[l.format.name] = listFigures(apiserverName, []*sample{got})
	})
	if err != nil {
		progress("%s: apiserver: %v", l.format.name, err)
	}
	return w.once[l.format.name]
}
