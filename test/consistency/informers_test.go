package consistency

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

const (
	informerCount = 200
	// minWrites is the number of writes while the informers run.
	minWrites = 600
	// sluiceWatches is the number of watches that Sluice opens for a cached resource: all informers
	// together cost the apiserver no more.
	sluiceWatches = 1
)

// The informers start with a streaming list, as client-go's do by default, during writes.
func TestInformersConvergeToTheStateOfTheAPIServer(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	awaitWatches(t, ownWatches) // those of the tests before have ended
	before := countRequests(t)
	sluice := controlPlane.StartSluice(t)
	sluice.WaitForCacheSync(t, configMaps.path("", ""), configMaps.report())
	namespace := controlPlane.Namespace(t)
	stop := write(t, namespace)
	all := startInformers(t, sluice, namespace)
	for _, i := range all {
		if !cache.WaitForCacheSync(t.Context().Done(), i.HasSynced) {
			t.Fatal("not synced")
		}
	}
	awaitWatches(t, ownWatches+sluiceWatches)
	writes := stop()
	direct := converged(t, namespace, all)
	awaitWatches(t, ownWatches+sluiceWatches)
	t.Logf("%d informers, %d writes; lists at the apiserver: %v by Sluice, %v by the test",
		len(all), writes, countRequests(t).lists-before.lists-direct, direct)
}

// ownWatches is how many watches of ConfigMaps the apiserver has itself: one of kube-system.
const ownWatches = 1

// awaitWatches waits until the apiserver has so many watches of ConfigMaps. A watch of an informer
// that passed would stay open, for minutes; the short one that proves a state, and one whose client
// has gone, end by themselves.
func awaitWatches(t *testing.T, want float64) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%v watches at the apiserver", want), func() error {
		if now := countRequests(t).watches; now != want {
			return fmt.Errorf("it has %v", now)
		}
		return nil
	})
}

// write starts writers. It returns a function that waits for minWrites, stops the writers and
// returns the number of writes.
func write(t *testing.T, namespace string) (stop func() int) {
	rec := newRecorder(&history.Clock{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for n := range cap(ended) {
		w := &writer{
			resource: configMaps, name: fmt.Sprintf("writer%d", n), raw: controlPlane.Raw("admin"), rec: rec,
			rnd: random(*seed, fmt.Sprint("informers", n)), namespaces: []string{namespace}, objects: 20, pause: 20 * time.Millisecond,
		}
		go func() { w.run(ctx); ended <- struct{}{} }()
	}
	count := func() int {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		return len(rec.history.Writes)
	}
	return func() int {
		harness.Eventually(t, "writes are acknowledged", func() error {
			if n := count(); n < minWrites {
				return fmt.Errorf("%d of %d", n, minWrites)
			}
			return nil
		})
		cancel()
		for range cap(ended) {
			<-ended
		}
		return count()
	}
}

// startInformers starts informers, each with its own client.
func startInformers(t *testing.T, sluice *harness.Sluice, namespace string) []cache.SharedIndexInformer {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, informerCount)
	t.Cleanup(func() {
		stop()
		for range informerCount {
			<-ended
		}
	})
	all := make([]cache.SharedIndexInformer, informerCount)
	for n := range all {
		factory := informers.NewSharedInformerFactoryWithOptions(sluice.Client("admin"), 0, informers.WithNamespace(namespace))
		all[n] = factory.Core().V1().ConfigMaps().Informer()
		go func() { all[n].RunWithContext(ctx); ended <- struct{}{} }()
	}
	return all
}

// converged waits until every informer has the apiserver's state. It returns the number of lists
// that it sent to the apiserver.
func converged(t *testing.T, namespace string, all []cache.SharedIndexInformer) (lists float64) {
	t.Helper()
	client := controlPlane.Client("admin")
	harness.Eventually(t, "informers have the apiserver's state", func() error {
		lists++
		want, err := versions(t.Context(), client, namespace)
		if err != nil {
			return err
		}
		for n, i := range all {
			if err := differs(i.GetStore(), want); err != nil {
				return fmt.Errorf("informer %d: %w", n, err)
			}
		}
		return nil
	})
	return lists
}

// versions returns the resource versions at the apiserver, by name.
func versions(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]string, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, c := range list.Items {
		all[c.Name] = c.ResourceVersion
	}
	return all, nil
}

func differs(store cache.Store, want map[string]string) error {
	have := store.List()
	if len(have) != len(want) {
		return fmt.Errorf("has %d objects, the apiserver %d", len(have), len(want))
	}
	for _, o := range have {
		c := o.(*corev1.ConfigMap)
		if want[c.Name] != c.ResourceVersion {
			return fmt.Errorf("has %s at %s, the apiserver at %q", c.Name, c.ResourceVersion, want[c.Name])
		}
	}
	return nil
}

// requestCounts are the apiserver's metrics of requests for ConfigMaps.
type requestCounts struct {
	watches float64 // open, of more than one object
	lists   float64 // since it was started
}

func countRequests(t *testing.T) requestCounts {
	t.Helper()
	a, err := controlPlane.Raw("admin").Get(t.Context(), "/metrics", "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	page, err := harness.ParseMetrics(bytes.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	return requestCounts{
		// Those of one object are the apiserver's own, which come and go.
		watches: page.Sum("apiserver_longrunning_requests", "resource=configmaps", "verb=WATCH") -
			page.Sum("apiserver_longrunning_requests", "resource=configmaps", "verb=WATCH", "scope=resource"),
		lists: page.Sum("apiserver_request_total", "resource=configmaps", "verb=LIST"),
	}
}
