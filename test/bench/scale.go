package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The sections of --scale. Each has servers and objects of its own.
const (
	scaleCluster = "cluster" // many pods and ConfigMaps: time to sync, memory, reads, feed
	scaleLists   = "lists"   // concurrent lists of large ConfigMaps
	scaleMemory  = "memory"  // pods, and large custom resources, read in every format
	scaleWatches = "watches" // many watches, some of which stop reading
)

var scaleSections = []string{scaleCluster, scaleLists, scaleMemory, scaleWatches}

// scaleUpdates is how many updates each watch of the section "watches" receives.
const scaleUpdates = 20

// scale measures the sections that the options select. With an error the report has the rows before it.
func scale(ctx context.Context, o *options, r *report) error {
	pods := scaledPods(o.pods)
	few := scaledPods(min(o.pods, perNamespace))
	for _, s := range []struct {
		name    string
		objects []population
		measure func(context.Context, *world, *report) error
	}{
		{scaleCluster, []population{pods, smallConfigMaps(o.configMaps)}, scaleOfCluster},
		{scaleLists, []population{largeConfigMaps(o.large)}, scaleOfLists},
		{scaleMemory, []population{scaledPods(max(1, o.pods/10))}, scaleOfMemory},
		{scaleMemory, []population{reports(o.reports)}, scaleOfMemory},
		{scaleWatches, []population{few}, scaleOfWatches},
	} {
		section := s.name
		if s.name == scaleMemory {
			if section += "-" + s.objects[0].resource; !o.only.matches(s.objects[0].resource) {
				continue
			}
		}
		if !slices.Contains(o.scale.list, s.name) {
			continue
		}
		if err := scaleSection(ctx, o, r, setting{section: section, objects: s.objects}, s.measure); err != nil {
			return fmt.Errorf("scale, %s: %w", section, err)
		}
	}
	return nil
}

// scaleSection starts the servers of a section and makes Sluice cache the objects before it measures.
func scaleSection(
	ctx context.Context, o *options, r *report, of setting, measure func(context.Context, *world, *report) error,
) (err error) {
	defer fails(&err)
	w, err := newWorld(ctx, o, of)
	defer w.close()
	check(err)
	for _, p := range of.objects {
		row := must(w.sync(ctx, p))
		if of.section != scaleWatches {
			r.add(row)
		}
	}
	return measure(ctx, w, r)
}

// syncPoll is the time between two looks at the metrics, which cost Sluice some milliseconds each.
const syncPoll = 250 * time.Millisecond

// sync makes Sluice cache a resource, and measures until it has.
func (w *world) sync(ctx context.Context, p population) (_ *row, err error) {
	defer fails(&err)
	progress("%s: waiting until %s are in sync", sluiceName, p)
	m := must(newMeter(w.background, w.targets()...))
	before := must(w.cached.proc.resident())
	raw := must(w.cached.connection(0))
	must(raw.Get(ctx, p.path+"?limit=1", jsonType)) // starts the store
	store := func(name string) (float64, error) {
		metrics, err := w.sluice.Metrics()
		if err != nil {
			return 0, err
		}
		return metrics.Sum("sluice_store_"+name, "resource="+p.resource), nil
	}
	if !poll(ctx, syncPoll, syncLimit, func() bool {
		synced, err := store("synced")
		return err == nil && synced == 1
	}) {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s is not in sync after %s\n%s", p.resource, syncLimit, w.sluice.Log()))
	}
	used := must(m.read())
	f := &figures{
		Seconds: time.Since(m.began).Seconds(), Peak: used.peak[sluiceName] - before,
		CPU: used.cpu[sluiceName].Seconds(), Upstream: used.cpu[apiserverName].Seconds(),
	}
	f.Bytes = must(store("data_bytes"))
	check(sleep(ctx, w.idle)) // the runtime returns what the fill has left
	after, err := w.cached.proc.resident()
	f.RSS = after - before
	r := newRow(syncTable, p.String())
	r.Target, r.Objects, r.By[sluiceName] = sluiceName, p.count, f
	return r, err
}

// scaleOfCluster measures reads, and then feeds of rising rates to each target, until a watch does not survive one.
func scaleOfCluster(ctx context.Context, w *world, r *report) error {
	idle, err := w.rest(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		all := newRow(syncTable, name+", all")
		all.Target, all.By[name] = name, idle[name]
		r.add(all)
	}
	if err := w.runAll(ctx, r, readScenarios(w.options)); err != nil || !w.only.matches("feed") {
		return err
	}
	for _, t := range w.targets() {
		for _, rate := range w.feeds {
			row, err := w.feed(ctx, t, rate)
			if err != nil {
				return fmt.Errorf("feed, %s: %w", t.name, err)
			}
			if r.add(row); row.Note != "" {
				break
			}
		}
	}
	return nil
}
