package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The sections of --scale. Each has servers and objects of its own.
const (
	scaleCluster = "cluster" // many pods and ConfigMaps: time to sync, memory, reads
	scaleLists   = "lists"   // concurrent lists of large ConfigMaps
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
		{scaleCluster, []population{pods, smallConfigMaps(3 * o.pods)}, scaleOfCluster},
		{scaleLists, []population{largeConfigMaps(o.large)}, scaleOfLists},
		{scaleMemory, []population{scaledPods(max(1, o.pods/10))}, scaleOfMemory},
		{scaleMemory, []population{reports(o.reports)}, scaleOfMemory},
		{scaleWatches, []population{few}, scaleOfWatches},
	} {
		if !slices.Contains(o.scale, s.name) || s.name == scaleMemory && !o.only.MatchString(s.objects[0].resource) {
			continue
		}
		err := try(func() {
			withWorld(ctx, o, setting{scaled: true, objects: s.objects}, func(w *world) {
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
