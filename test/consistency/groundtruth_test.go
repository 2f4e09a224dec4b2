package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// groundTruth records the log of a resource from one watch directly at the apiserver. A restarted
// apiserver no longer has the last events from before; the log is then repaired by exact lists at
// each version.
type groundTruth struct {
	resource
	server     *server
	namespaces []string // whose objects change

	mu      sync.Mutex // guards the fields below
	log     history.Log
	objects map[string]*history.Object
	reached uint64 // version up to which the log is complete; 0 until it has its first state
	err     error  // of run
}

// errGroundTruth is returned when the log cannot be repaired.
var errGroundTruth = errors.New("the log of the test is incomplete")

// run records the log until the context ends.
func (g *groundTruth) run(ctx context.Context) {
	err := g.begin(ctx)
	for err == nil && ctx.Err() == nil {
		if err = g.follow(ctx); gone(err) {
			err = g.repair(ctx)
		}
		if !errors.Is(err, errGroundTruth) {
			err = nil // the apiserver is away
		}
		wait(ctx, 20*time.Millisecond)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *groundTruth) begin(ctx context.Context) error {
	page, err := g.list(ctx, "", 0)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = history.Log{Start: page.Version, State: page.Items}
	g.objects = g.log.At(page.Version)
	g.reached = page.Version
	return nil
}

// list returns the state at a version, or with 0 the most recent state. It retries until the
// request succeeds.
func (g *groundTruth) list(ctx context.Context, namespace string, version uint64) (page history.Page, err error) {
	query := url.Values{}
	if version > 0 {
		query = url.Values{"resourceVersion": {strconv.FormatUint(version, 10)}, "resourceVersionMatch": {"Exact"}}
	}
	for {
		page, _, err = g.server.list(ctx, g.path(namespace, ""), query, false)
		if err == nil || gone(err) || ctx.Err() != nil {
			return page, err
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// follow watches from the version up to which the log is complete, until the watch ends.
func (g *groundTruth) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := g.server.watch(ctx, g.path("", ""), url.Values{
		"resourceVersion": {strconv.FormatUint(g.reachedVersion(), 10)}, "allowWatchBookmarks": {"true"},
	})
	if err != nil {
		return err
	}
	defer stream.close()
	for {
		item, _, err := stream.next()
		if err != nil {
			return err
		}
		if item.Type == history.Bookmark {
			g.add(item.Version)
		} else {
			g.add(item.Version, history.Event{Type: item.Type, Version: item.Version, Object: item.Object})
		}
	}
}

// add appends events; the log is then complete up to version.
func (g *groundTruth) add(version uint64, events ...history.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range events {
		g.log.Events = append(g.log.Events, e)
		if e.Type == history.Deleted {
			delete(g.objects, e.Object.Key)
		} else {
			g.objects[e.Object.Key] = e.Object
		}
	}
	g.reached = max(g.reached, version)
}

func (g *groundTruth) reachedVersion() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reached
}

// repair completes the log up to the current version, version by version.
func (g *groundTruth) repair(ctx context.Context) error {
	now, err := g.list(ctx, "", 0)
	if err != nil {
		return err
	}
	for version := g.reachedVersion() + 1; version <= now.Version; version++ {
		if err := g.repairVersion(ctx, version); err != nil {
			return err
		}
	}
	if changes := g.changes("", now); len(changes) > 0 {
		return fmt.Errorf("%w: the list at %d has %v", errGroundTruth, now.Version, changes)
	}
	return nil
}

// repairVersion adds the event of one version, if there is one.
func (g *groundTruth) repairVersion(ctx context.Context, version uint64) error {
	var changes []history.Event
	for _, namespace := range g.namespaces {
		page, err := g.list(ctx, namespace, version)
		if gone(err) {
			return fmt.Errorf("%w: version %d is gone", errGroundTruth, version)
		}
		if err != nil {
			return err
		}
		changes = append(changes, g.changes(namespace, page)...)
	}
	if len(changes) > 1 {
		return fmt.Errorf("%w: %d changes at version %d: %v", errGroundTruth, len(changes), version, changes)
	}
	g.add(version, changes...)
	return nil
}

// changes returns the events that lead from the state of the log to a list of one namespace, or with "" of all.
func (g *groundTruth) changes(namespace string, page history.Page) []history.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := maps.Clone(g.objects)
	maps.DeleteFunc(before, func(_ string, o *history.Object) bool { return namespace != "" && o.Namespace() != namespace })
	var changes []history.Event
	for _, o := range page.Items {
		switch old := before[o.Key]; {
		case old == nil:
			changes = append(changes, history.Event{Type: history.Added, Version: o.Version, Object: o})
		case old.Version != o.Version:
			changes = append(changes, history.Event{Type: history.Modified, Version: o.Version, Object: o})
		}
		delete(before, o.Key)
	}
	for _, old := range before {
		changes = append(changes, history.Event{Type: history.Deleted, Version: page.Version, Object: old.WithVersion(page.Version)})
	}
	return changes
}

// await waits until the log is complete up to a version.
func (g *groundTruth) await(t *testing.T, version uint64) {
	t.Helper()
	harness.Eventually(t, "the log of "+g.plural, func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.err != nil {
			t.Fatalf("%s: %v", g.plural, g.err)
		}
		if g.reached < version {
			return fmt.Errorf("at version %d, want %d", g.reached, version)
		}
		return nil
	})
}

// snapshot returns a copy of the log.
func (g *groundTruth) snapshot() history.Log {
	g.mu.Lock()
	defer g.mu.Unlock()
	log := g.log
	log.Events = slices.Clone(log.Events)
	return log
}

// wait waits for d or the end of the context.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
