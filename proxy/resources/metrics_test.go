package resources

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sluice/test/support/fake"
)

func TestMetricsAreThoseOfEveryStore(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Modified("a/x@11"), d.Bookmark("15"))},
		{"watch 15", fake.Hang},
	}
	run(t, d, Options{}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(7 * time.Second)
		want := `
# HELP sluice_store_connected 1 if the upstream watch of the store is open.
# TYPE sluice_store_connected gauge
sluice_store_connected{group="",resource="configmaps",version="v1"} 0
# HELP sluice_store_objects Objects in the store.
# TYPE sluice_store_objects gauge
sluice_store_objects{group="",resource="configmaps",version="v1"} 1
# HELP sluice_store_received_total Events and bookmarks received from the apiserver.
# TYPE sluice_store_received_total counter
sluice_store_received_total{group="",resource="configmaps",version="v1"} 2
# HELP sluice_store_resource_version Resource version up to which the store is complete.
# TYPE sluice_store_resource_version gauge
sluice_store_resource_version{group="",resource="configmaps",version="v1"} 15
# HELP sluice_store_synced 1 if reads are served from the store.
# TYPE sluice_store_synced gauge
sluice_store_synced{group="",resource="configmaps",version="v1"} 1
`
		names := []string{"connected", "objects", "received_total", "resource_version", "synced"}
		for i := range names {
			names[i] = "sluice_store_" + names[i]
		}
		if err := testutil.CollectAndCompare(e.registry.Collector(), strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
		c := e.check(t, 15, "a/x")
		if away := c.DisconnectedFor(); away < 6*time.Second || away > 7*time.Second {
			t.Errorf("disconnected for %v", away)
		}
	})
}

func TestStatesAreInTheOrderOfTheirNames(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second / 2)
		fake.Refuse(http.StatusNotFound)(w, r)
	}
	run(t, fake.Widgets, Options{}, []step{{"discovery", fake.Hang}, {"discovery", refuse}}, func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		e.registry.Lookup(fake.ConfigMaps.GVR, "user")
		if diff := cmp.Diff([]State{{Resource: "configmaps.v1"}, {Resource: "widgets.v1.example.com"}}, e.registry.States()); diff != "" {
			t.Error(diff)
		}
		pass(time.Second)
		if diff := cmp.Diff([]State{{Resource: "widgets.v1.example.com"}}, e.registry.States()); diff != "" {
			t.Errorf("resource that is not cacheable: %s", diff)
		}
	})
}

// A watch that opens and is silent tells nothing of what was missed while there was none.
func TestOnlyEventsAndProofsShowThatAStoreIsUpToDate(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.EndedAfter(time.Second, d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("15"))},
		{"watch 15", d.Stream()}, {"metadata", d.PageBody("20", "", "a/x@3")},
	}
	run(t, d, Options{}, steps, func(t *testing.T, e *env) {
		filled := time.Now()
		e.lookup()
		pass(2 * time.Minute)
		entry := e.registry.entries.all()[fake.ConfigMaps.GVR]
		if open, at := entry.reflector.Connected(); !open || !at.After(filled) || !entry.lastProven().Equal(filled) {
			t.Errorf("watch open: %v, since %v; the store is known to be up to date at %v, want %v", open, at, entry.lastProven(), filled)
		}
		slow := time.Now()
		pass(time.Second)
		entry.current.Load().Proven(time.Now())
		entry.current.Load().Proven(slow)
		if age := time.Since(entry.lastProven()); age != 0 {
			t.Errorf("the last proof is %v old, by one that took longer", age)
		}
	})
}
