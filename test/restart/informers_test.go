package restart

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"sluice/codec/json"
	"sluice/test/harness"
)

// manager is a set of informers, as a controller manager has one.
type manager map[schema.GroupVersionResource]cache.SharedIndexInformer

// startManager starts informers of the metadata of resources through a gateway, until the test ends.
func startManager(t *testing.T, sluice *harness.Sluice, resources ...schema.GroupVersionResource) manager {
	t.Helper()
	m := manager{}
	factory := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(sluice.RESTConfig("admin")), 0)
	for _, r := range resources {
		m[r] = factory.ForResource(r).Informer()
	}
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	return m
}

// cached returns every resource that Sluice caches.
func cached(t *testing.T) (all []schema.GroupVersionResource) {
	t.Helper()
	resources, err := apiserver.Resources()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources {
		if r.Can("watch") && r.API.Name != "events" && r.API.Name != "secrets" { // those are excluded from the cache
			all = append(all, r.GV.WithResource(r.API.Name))
		}
	}
	if len(all) < 50 {
		t.Fatalf("the apiserver has only %d resources", len(all))
	}
	return all
}

// synced returns why not all informers are in sync.
func (m manager) synced() error {
	for gvr, i := range m {
		if !i.HasSynced() {
			return fmt.Errorf("%v is not in sync", gvr)
		}
	}
	return nil
}

// served returns why not at least 95 % of the watches are served from the cache, or why the apiserver
// does not have one watch for each resource.
func (m manager) served(sluice *harness.Sluice) error {
	metrics, err := sluice.Metrics()
	if err != nil {
		return err
	}
	served, passed := metrics.Sum("sluice_watchers"), metrics.Sum("sluice_passed_watchers")
	if want := len(m); served+passed != float64(want) || served < 0.95*float64(want) {
		return fmt.Errorf("%v watches are served and %v pass, of %d: %v", served, passed, want, metrics.Samples("sluice_passed_watchers"))
	}
	for gvr := range m {
		n := metrics.Sum("sluice_upstream_watches", "group="+gvr.Group, "version="+gvr.Version, "resource="+gvr.Resource)
		follows := gvr.Resource == "apiservices" || gvr.Resource == "customresourcedefinitions" // Sluice has a second one of these
		if n < 1 || n > 1 && !follows {
			return fmt.Errorf("the apiserver has %v watches of %v", n, gvr)
		}
	}
	return nil
}

// A watch that met a store on its way, or came back from a version before the store began, would
// otherwise stay at the apiserver for its whole life.
func TestWatchesAreServedFromTheCacheSoonAfterAStart(t *testing.T) {
	for name, streaming := range map[string]bool{"streaming-lists": true, "lists": false} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
			writeOften(t)
			sluice := apiserver.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=warn"}})
			m := startManager(t, sluice, cached(t)...) // together with the gateway
			harness.Eventually(t, "informers are in sync", m.synced)
			harness.Eventually(t, "watches are served", func() error { return m.served(sluice) })
			for range 2 {
				sluice.Restart(t)
				harness.Eventually(t, "watches are served", func() error { return m.served(sluice) })
			}
			m.sees(t)
		})
	}
}

// writeOften changes an object until the test ends, so that every store begins at a version that no client has
// seen.
func writeOften(t *testing.T) {
	t.Helper()
	const path = "/api/v1/namespaces/default/configmaps"
	name := createNew(t, path)
	written := 0
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; t.Context().Err() == nil; n++ {
			if _, err := apiserver.Raw("admin").Write(t.Context(), http.MethodPatch, path+"/"+name, fmt.Sprintf(`{"data":{"n":"%d"}}`, n)); err == nil {
				written++
			}
		}
	})
	t.Cleanup(func() {
		if running.Wait(); written < 100 {
			t.Errorf("only %d writes succeeded", written)
		}
	})
}

// createNew creates an object and returns its name, which no object had before.
func createNew(t *testing.T, path string) (name string) {
	t.Helper()
	a := apiserver.Raw("admin").Must(t, http.MethodPost, path, `{"metadata":{"generateName":"new-"}}`)
	name, ok := json.Value(a.Body).Get("metadata", "name").Text()
	if !ok {
		t.Fatalf("an object without a name: %s", a.Body)
	}
	return name
}

// sees waits until a new object reaches its informer.
func (m manager) sees(t *testing.T) {
	t.Helper()
	name := createNew(t, "/api/v1/namespaces/default/serviceaccounts")
	store := m[corev1.SchemeGroupVersion.WithResource("serviceaccounts")].GetStore()
	harness.Eventually(t, "a new object is seen", func() error {
		if _, exists, err := store.GetByKey("default/" + name); !exists {
			return fmt.Errorf("%s is missing: %v", name, err)
		}
		return nil
	})
}
