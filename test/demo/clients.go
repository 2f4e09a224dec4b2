package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"sluice/test/harness"
)

const (
	watchers = 50
	listers  = 5
)

// watched lists the resources that the clients watch, with their names in Sluice's report of readiness.
var watched = []struct{ path, name string }{
	{"/api/v1/pods", "pods.v1"},
	{"/api/v1/configmaps", "configmaps.v1"},
	{"/apis/storage.example.com/v1/backups", "backups.v1.storage.example.com"},
}

// podList is a list of all pods, as an informer or a dashboard sends it.
var podList = harness.Request{
	Path:   "/api/v1/pods?resourceVersion=0",
	Header: http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}},
}

// waitForCaches waits until Sluice caches the watched resources.
func (d *demo) waitForCaches(ctx context.Context) error {
	for _, w := range watched {
		if err := harness.Poll(ctx, func() error { return d.sluice.CacheSynced(ctx, w.path, w.name) }); err != nil {
			return fmt.Errorf("%s in Sluice's cache: %w", w.name, err)
		}
	}
	return nil
}

// keepListing lists all pods every second, as dashboards do, until the context ends. The next list makes up for one
// that fails.
func (d *demo) keepListing(ctx context.Context) {
	for pause(ctx, time.Second) {
		_, _ = d.sluice.Raw("admin").Do(ctx, podList)
	}
}

// keepWatching watches with initial events, as an informer does, again whenever the watch ends.
func (d *demo) keepWatching(ctx context.Context, path string) {
	watch := harness.Request{
		Path: path + "?watch=1&resourceVersion=0&allowWatchBookmarks=true", Header: http.Header{"Accept": {"application/json"}},
	}
	for {
		if resp, err := d.sluice.Raw("admin").Open(ctx, watch); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if !pause(ctx, time.Second) {
			return
		}
	}
}
