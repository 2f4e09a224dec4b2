package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// The sections of --scale. Each has servers and objects of its own.
const (
	scaleCluster = "cluster" // many pods and ConfigMaps: time to sync, memory, reads
	scaleLists   = "lists"   // concurrent lists of ConfigMaps of 100 KB, as in the load test of Kubernetes
	scaleMemory  = "memory"  // pods, and large custom resources, read in every format
	scaleWatches = "watches" // many watches, some of which stop reading
)

var scaleSections = []string{scaleCluster, scaleLists, scaleMemory, scaleWatches}

// scaleUpdates is how many updates each watch of the section "watches" receives.
const scaleUpdates = 20

// scale measures the sections that the options select. With an error the report has the rows before it.
func scale(ctx context.Context, o *options, r *report) {
	pods := scaledPods(o.pods)
	few := scaledPods(min(o.pods, perNamespace))
	for _, s := range []struct {
		name    string
		objects []population
		measure func(context.Context, *world, *report)
	}{
		{scaleCluster, []population{pods, configMaps(3*o.pods, perNamespace, 700)}, scaleOfCluster},
		{scaleLists, []population{configMaps(o.large, o.large, 100_000)}, scaleOfLists},
		{scaleMemory, []population{scaledPods(max(1, o.pods/10))}, scaleOfMemory},
		{scaleMemory, []population{reports(o.reports)}, scaleOfMemory},
		{scaleWatches, []population{few}, scaleOfWatches},
	} {
		if !slices.Contains(o.scale, s.name) || s.name == scaleMemory && !o.only.MatchString(s.objects[0].resource) {
			continue
		}
		err := try(func() {
			withWorld(ctx, o, s.objects, func(w *world) {
				for _, p := range s.objects { // Sluice caches the objects before
					if row := w.sync(ctx, p); s.name != scaleWatches {
						r.add(row)
					}
				}
				s.measure(ctx, w, r)
			})
		})
		if err != nil {
			check(fmt.Errorf("scale, %s: %w", s.name, err))
		}
	}
}

// syncPoll is the time between two looks at the metrics, which cost Sluice some milliseconds each.
const syncPoll = 250 * time.Millisecond

// sync makes Sluice cache a resource, and measures until it has.
func (w *world) sync(ctx context.Context, p population) *row {
	progress("%s: waiting until %s are in sync", sluiceName, p)
	m, before := w.meter(), w.cached.proc.resident()
	must(w.cached.connection(0).Get(ctx, p.path+"?limit=1", jsonType)) // starts the store
	store := func(name string) float64 {
		return must(w.cached.sluice.Metrics()).Sum("sluice_store_"+name, "resource="+p.resource)
	}
	if !poll(ctx, syncPoll, syncLimit, func() bool { return store("synced") == 1 }) {
		check(fmt.Errorf("%s is not in sync after %s\n%s", p.resource, syncLimit, w.cached.sluice.Log()))
	}
	used := m.read()
	f := &figures{
		Seconds: time.Since(m.began).Seconds(), Peak: used.peak[sluiceName] - before,
		CPU: used.cpu[sluiceName].Seconds(), Upstream: used.cpu[apiserverName].Seconds(), Bytes: store("data_bytes"),
	}
	sleep(ctx, w.idle) // the runtime returns what the fill has left
	f.RSS = w.cached.proc.resident() - before
	r := newRow(syncTable, p.String())
	r.Target, r.Objects, r.By[sluiceName] = sluiceName, p.count, f
	return r
}

// scaleOfCluster measures the servers at rest, and reads.
func scaleOfCluster(ctx context.Context, w *world, r *report) {
	idle := w.rest(ctx)
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		all := newRow(syncTable, name+", all")
		all.Target, all.By[name] = name, idle[name]
		r.add(all)
	}
	w.runAll(ctx, r, readScenarios(w.options))
}

// absent is a selector that matches nothing.
const absent = "labelSelector=app%3Dabsent"

// scaleWindow is the longest time of a case at a target, except that of its first read.
const scaleWindow = 8 * time.Second

// readScenarios returns the reads of a large cluster, by one client, that the options select. Without an update before
// each, a consistent read is one of KEP-2340.
func readScenarios(o *options) []*scenario {
	json, proto, tables := accepting(jsonType, identity), accepting(protobufType, identity), accepting(jsonType+tableOf, identity)
	space := "/api/v1/namespaces/" + namespaceName(0) + "/pods"
	app := "&labelSelector=" + url.QueryEscape("app.kubernetes.io/name=checkout-07")
	pods, cached, maps := "/api/v1/pods?", "/api/v1/pods?resourceVersion=0", "/api/v1/configmaps?"
	var all []*scenario
	for _, c := range []listing{
		{name: "pods: all, JSON gzip", path: cached, header: accepting(jsonType, "gzip"), most: 2},
		{name: "pods: all, Protobuf", path: cached, header: proto, most: 2},
		{name: "pods: second page of 500, Table", path: pods + "limit=500", second: true, header: tables, most: 20},
		{name: "pods: namespace, JSON", path: space + "?resourceVersion=0", header: json, most: 100},
		{name: "pods: app, JSON", path: cached + app, header: json, most: 100},
		{name: "pods: app, Table", path: cached + app, header: tables, most: 100},
		{name: "pods: node, JSON", path: cached + "&fieldSelector=spec.nodeName%3Dnode-007", header: json, most: 100},
		{name: "pods: no label matches", path: cached + "&" + absent, header: json, most: 200},
		{name: "pods: namespace, consistent", path: space, header: json, most: o.repeats, after: true},
		{name: "configmaps: all, Protobuf", path: maps + "resourceVersion=0", header: proto, most: 2},
		{name: "configmaps: no label matches", path: maps + "resourceVersion=0&" + absent, header: json, most: 200},
		{name: "configmaps: no label matches, consistent, nothing written", path: maps + absent, header: json, most: 10 * o.repeats},
		{name: "configmaps: no label matches, consistent", path: maps + absent, header: json, most: 10 * o.repeats, after: true},
	} {
		c.clients, c.rounds, c.window = 1, 1, scaleWindow
		all = append(all, c.scenario())
	}
	return o.selected(all)
}

// concurrentLists is how many lists run at once in the section "lists", as in the load test of Kubernetes.
const concurrentLists = 10

// scaleOfLists measures concurrent lists of large ConfigMaps in every format that whole objects have. The apiserver would
// need tens of gigabytes, or minutes, for two of them.
func scaleOfLists(ctx context.Context, w *world, r *report) {
	var all []*scenario
	for _, name := range []string{"json", "protobuf", "cbor", "yaml"} {
		all = append(all, listing{
			name: fmt.Sprintf("%s x%d", name, concurrentLists), path: w.pods.path + "?resourceVersion=0",
			header: accepting(formatOf(name).accept, identity), clients: concurrentLists, rounds: w.rounds, most: 1,
			sluiceOnly: name == "cbor" || name == "yaml",
		}.scenario())
	}
	w.runAll(ctx, r, w.selected(all))
}

// stalledOf is of how many watches one stops reading.
const stalledOf = 20

// scaleOfWatches measures the delay of events at many watches, all of which read, and then while some do not.
func scaleOfWatches(ctx context.Context, w *world, r *report) {
	w.know()
	stalled := (w.watchers + stalledOf - 1) / stalledOf
	for _, t := range w.targets() {
		row := newRow(stalledTable, fmt.Sprintf("%d at the %s", w.watchers, t.name))
		row.Target, row.Clients = t.name, w.watchers
		row.By[quietly] = w.delays(ctx, t, w.watchers, 0)
		row.By[attacked] = w.delays(ctx, t, w.watchers-stalled, stalled)
		row.By[attacked].Peak = max(row.By[quietly].Peak, row.By[attacked].Peak)
		r.add(row)
		t.close()
	}
}

// delays opens watches, updates pods one after the other, each once all watches that read have received the
// one before, and returns the delays of the events.
func (w *world) delays(ctx context.Context, t *target, reading, stalled int) *figures {
	progress("%d watches at the %s, of which %d do not read", reading+stalled, t.name, stalled)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := watching{format: formatOf("json"), encoding: identity, watchers: reading}
	openStalled(ctx, t, c.pathAt(t, w.version(ctx)), stalled)
	got := c.deliver(ctx, w, t, w.updates, func(open *watchers) (acknowledged []time.Time) {
		for i := range w.updates {
			w.updatePod(ctx)
			acknowledged = append(acknowledged, time.Now())
			open.wait(ctx, i+1)
		}
		return acknowledged
	})
	f := &figures{CPU: got.cpu[t.name].Seconds() / float64(len(got.walls)), Peak: got.peak[t.name], Watches: stalled}
	f.timed(got.walls)
	return f
}
