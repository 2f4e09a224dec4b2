package main

import (
	"context"
	"fmt"
	"slices"
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

// scale measures the sections that the options select. With an error the report has the lines before it.
func scale(ctx context.Context, o *options, r *report) error {
	sections := map[string]func(context.Context, *options, *scaleReport) error{
		scaleCluster: scaleOfCluster, scaleLists: scaleOfLists, scaleMemory: scaleOfMemory, scaleWatches: scaleOfWatches,
	}
	for _, name := range scaleSections {
		if !slices.Contains(o.scale, name) {
			continue
		}
		if err := sections[name](ctx, o, &r.Scale); err != nil {
			return fmt.Errorf("scale, %s: %w", name, err)
		}
	}
	return nil
}

// scaleOfCluster measures a large cluster.
func scaleOfCluster(ctx context.Context, o *options, r *scaleReport) error {
	pods, configMaps := scaledPods(o.pods), smallConfigMaps(o.configMaps)
	e, err := newScaleEnv(ctx, o, scaleCluster, pods, configMaps)
	defer e.close()
	if err != nil {
		return err
	}
	for _, p := range []population{pods, configMaps} {
		line, err := e.sync(ctx, p)
		if err != nil {
			return err
		}
		r.Syncs = append(r.Syncs, line)
	}
	if r.Idle, err = e.measureIdle(ctx); err != nil {
		return err
	}
	for _, c := range scaleReads(o) {
		line, err := e.read(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.Reads = append(r.Reads, line)
	}
	return e.feeds(ctx, r)
}

// feeds measures feeds of rising rates to each target, until a watch does not survive one.
func (e *scaleEnv) feeds(ctx context.Context, r *scaleReport) error {
	if !e.only.matches("feed") {
		return nil
	}
	for _, t := range e.targets() {
		for _, rate := range e.options.feeds {
			line, err := e.feedTo(ctx, t, rate)
			if err != nil {
				return fmt.Errorf("feed, %s: %w", t.name, err)
			}
			r.Feeds = append(r.Feeds, line)
			if line.Failed != "" {
				break
			}
		}
	}
	return nil
}
