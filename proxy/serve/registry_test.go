package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"sluice/cache/tree"
	"sluice/proxy/resources"
	"sluice/test/support/fake"
	"sluice/test/support/servetest"
)

// registered runs a test with the store of config maps that a Registry fills by a script, in a bubble.
func registered(t *testing.T, steps []fake.Step, test func(*testing.T, *resources.CachedResource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u, end := fake.New(t, fake.ConfigMaps, steps).Upstream()
		defer end()
		registry := resources.New(resources.Options{
			Upstream: u, Log: zap.NewNop(), CheckEvery: time.Hour, Limits: resources.Limits{Idle: time.Hour},
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := registry.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer func() { stop(); running.Wait() }()
		synctest.Wait()
		registry.Lookup(fake.ConfigMaps.GVR, "jane")
		time.Sleep(time.Second)
		synctest.Wait()
		c, reason := registry.Lookup(fake.ConfigMaps.GVR, "jane")
		if c == nil {
			t.Fatal(reason)
		}
		test(t, c)
	})
}

func TestAnswersTellTheirAgeWhileTheAPIServerIsAway(t *testing.T) {
	d := fake.ConfigMaps
	steps := []fake.Step{{Call: "watchlist", Respond: d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"))}}
	for range 10 {
		steps = append(steps, fake.Step{Call: "watch 10", Respond: fake.Hang})
	}
	registered(t, steps, func(t *testing.T, c *resources.CachedResource) {
		away := false
		e := newEnv(t, c, Options{Away: func() bool { return away }})
		for _, row := range []struct {
			lost  time.Duration // since the store has had no watch
			away  bool
			warns string
		}{{9 * time.Second, false, ""}, {10 * time.Second, true, "the newest 10s ago"}, {29 * time.Second, false, ""}, {31 * time.Second, false, "the newest 31s ago"}} {
			time.Sleep(row.lost - c.DisconnectedFor())
			away = row.away
			warning := e.Get("/api/v1/configmaps?resourceVersion=0", nil).Header().Get("Warning")
			if (warning != "") != (row.warns != "") || !strings.Contains(warning, row.warns) {
				t.Errorf("after %v: the warning is %q", row.lost, warning)
			}
		}
	})
}

// What lies in other namespaces may be old.
func TestInventoryOfANamespaceProvesNotTheWholeStore(t *testing.T) {
	d := fake.ConfigMaps
	events := [][]byte{d.Added("a/x@3")}
	for i := range 200 {
		events = append(events, d.Added(fmt.Sprintf("b/x%03d@4", i)))
	}
	steps := []fake.Step{{Call: "watchlist", Respond: d.Stream(append(events, d.InitialEventsEnd("10"))...)}}
	registered(t, steps, func(t *testing.T, c *resources.CachedResource) {
		e := newEnv(t, c, Options{})
		e.Apiserver.SetListed(300, &tree.Object{Key: tree.KeyOf("a", "x"), RV: 3}, &tree.Object{Key: tree.KeyOf("b", "x000"), RV: 299})
		before := c.LastProven()
		time.Sleep(time.Second)
		w := e.Watch("/api/v1/namespaces/a/configmaps?watch=1&"+servetest.Streaming+servetest.Bookmarks, nil)
		if got := w.Take(); !slices.Equal(got, []string{"ADDED x@3", "BOOKMARK@300 end"}) {
			t.Errorf("got %q", got)
		}
		if at := c.LastProven(); !at.Equal(before) {
			t.Errorf("the store counts as proven %v later", at.Sub(before))
		}
		w.Leave()
	})
}
