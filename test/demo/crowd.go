package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// crowded lists the resources that the clients watch: path, and name in Sluice's readiness report.
var crowded = [][2]string{
	{"/api/v1/pods", "pods.v1"},
	{"/api/v1/nodes", "nodes.v1"},
	{"/api/v1/configmaps", "configmaps.v1"},
	{"/apis/apps/v1/deployments", "deployments.v1.apps"},
	{"/apis/storage.example.com/v1/backups", "backups.v1.storage.example.com"},
}

const (
	// listers is the number of clients that list all pods, as dashboards do, every listInterval each.
	listers      = 5
	listInterval = time.Second
)

// waitForCaches waits until Sluice caches the watched resources.
func (d *demo) waitForCaches(ctx context.Context) error {
	done := d.step("Waiting for Sluice's caches")
	for _, c := range crowded {
		if err := harness.Poll(ctx, func() error { return d.sluice.CacheSynced(ctx, c[0], c[1]) }); err != nil {
			return fmt.Errorf("%s in Sluice's cache: %w", c[1], err)
		}
	}
	done()
	return nil
}

// startCrowd starts the clients in g.
func (d *demo) startCrowd(ctx context.Context, g *errgroup.Group) {
	for i := range d.options.watchers {
		path := crowded[i%len(crowded)][0]
		g.Go(func() error { return d.keepWatching(ctx, path) })
	}
	for range listers {
		g.Go(func() error { return d.keepListing(ctx) })
	}
}

// keepListing lists all pods until the context ends. The next list makes up for one that fails.
func (d *demo) keepListing(ctx context.Context) error {
	every(ctx, listInterval, func() { _, _ = d.sluice.Raw("admin").Do(ctx, podList) })
	return nil
}

// keepWatching opens a watch with initial events again and again, as an informer does.
func (d *demo) keepWatching(ctx context.Context, path string) error {
	for {
		d.watch(ctx, path+"?watch=1&resourceVersion=0&allowWatchBookmarks=true")
		if !pause(ctx, time.Second) {
			return nil
		}
	}
}

// watch reads one watch to its end. The reason of its end is ignored: keepWatching opens the next.
func (d *demo) watch(ctx context.Context, path string) {
	resp, err := d.sluice.Raw("admin").Open(ctx, harness.Request{
		Path: path, Header: http.Header{"Accept": {"application/json"}},
	})
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}
