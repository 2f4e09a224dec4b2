package consistency

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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
	// churn is how many writes the informers live through.
	churn = 600
	// watchListServed says that streaming lists are served out of the cache,
	// so that all informers together cost the apiserver one watch.
	watchListServed = true
	// ownWatches is how many watches Sluice has of a resource that it caches.
	ownWatches = 1
)

// Two hundred informers that begin with a streaming list, as client-go's do,
// end in the apiserver's state whatever is written meanwhile.
func TestInformersConverge(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, true)
	before := upstreamCounts(t)
	sluice := plane.StartSluice(t)
	sluice.WaitForCacheSync(t, configMaps.path("", ""), configMaps.report())
	namespace := plane.Namespace(t)
	stop := write(t, namespace)
	all := startInformers(t, sluice, namespace)
	for _, i := range all {
		if !cache.WaitForCacheSync(t.Context().Done(), i.HasSynced) {
			t.Fatal("not synced")
		}
	}
	during := upstreamCounts(t)
	writes := stop()
	direct := converged(t, namespace, all)
	after := upstreamCounts(t)
	t.Logf("%d informers, %d writes; open watches at the apiserver: %v more with all informers, %v in the end; lists there: %v by Sluice, %v by the test",
		len(all), writes, during.watches-before.watches, after.watches-before.watches, after.lists-before.lists-direct, direct)
	if watchListServed && (during.watches != before.watches+ownWatches || after.watches != before.watches+ownWatches) {
		t.Errorf("the apiserver had %v watches before, %v during and %v after", before.watches, during.watches, after.watches)
	}
}

// write starts writers and returns what waits for enough writes, stops them and
// returns how many there were.
func write(t *testing.T, namespace string) (stop func() int) {
	rec := newRecorder(&history.Clock{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for n := range cap(ended) {
		w := &writer{
			resource: configMaps, name: fmt.Sprintf("writer%d", n), raw: plane.Raw("admin"), rec: rec,
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
			if n := count(); n < churn {
				return fmt.Errorf("%d of %d", n, churn)
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

// startInformers starts informers, each of a client of its own.
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

// converged waits until every informer holds the apiserver's state, and returns
// how many lists of its own that took.
func converged(t *testing.T, namespace string, all []cache.SharedIndexInformer) (lists float64) {
	t.Helper()
	client := plane.Client("admin")
	harness.Eventually(t, "informers hold the apiserver's state", func() error {
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

// versions is the apiserver's own state.
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
		return fmt.Errorf("holds %d objects, the apiserver %d", len(have), len(want))
	}
	for _, o := range have {
		c := o.(*corev1.ConfigMap)
		if want[c.Name] != c.ResourceVersion {
			return fmt.Errorf("holds %s at %s, the apiserver at %q", c.Name, c.ResourceVersion, want[c.Name])
		}
	}
	return nil
}

// upstreamed are the apiserver's own, of ConfigMaps.
type upstreamed struct {
	watches float64 // open
	lists   float64 // since it was started
}

func upstreamCounts(t *testing.T) upstreamed {
	t.Helper()
	a, err := plane.Raw("admin").Get(t.Context(), "/metrics", "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	page := string(a.Body)
	return upstreamed{
		watches: sum(page, "apiserver_longrunning_requests", `resource="configmaps"`, `verb="WATCH"`),
		lists:   sum(page, "apiserver_request_total", `resource="configmaps"`, `verb="LIST"`),
	}
}

var sample = regexp.MustCompile(`(?m)^(\w+)\{(.*)\} (\S+)$`)

// sum is that of the samples of a metric which have all of the labels.
func sum(page, name string, labels ...string) float64 {
	total := 0.0
	for _, m := range sample.FindAllStringSubmatch(page, -1) {
		wanted := m[1] == name
		for _, l := range labels {
			wanted = wanted && strings.Contains(m[2], l)
		}
		if v, err := strconv.ParseFloat(m[3], 64); wanted && err == nil {
			total += v
		}
	}
	return total
}
