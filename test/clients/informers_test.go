package clients

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"sluice/test/harness"
)

// informer is a client-go informer of pods that checks the order of versions.
type informer struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	done     chan struct{}

	mu       sync.Mutex
	versions map[string]uint64 // the last version of each object
	faults   []string
}

// startInformer starts an informer until the test ends.
func startInformer(t testing.TB, client kubernetes.Interface, namespace string) *informer {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	i := &informer{informer: factory.Core().V1().Pods().Informer(), done: make(chan struct{}), versions: map[string]uint64{}}
	if _, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { i.saw(o) },
		UpdateFunc: func(_, o any) { i.saw(o) },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	i.stop = stop
	go func() {
		defer close(i.done)
		i.informer.RunWithContext(ctx)
	}()
	t.Cleanup(i.end)
	return i
}

// end stops the informer.
func (i *informer) end() {
	i.stop()
	<-i.done
}

// saw checks that the version of no object decreases.
func (i *informer) saw(o any) {
	pod := o.(*corev1.Pod)
	key := pod.Namespace + "/" + pod.Name + "/" + string(pod.UID)
	version, err := strconv.ParseUint(pod.ResourceVersion, 10, 64)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil || version < i.versions[key] {
		i.faults = append(i.faults, fmt.Sprintf("%s at %s after %d", key, pod.ResourceVersion, i.versions[key]))
	}
	i.versions[key] = version
}

// differs returns how the informer's store differs from the apiserver's state, nil if it does not.
func (i *informer) differs(want map[string]string) error {
	have := i.informer.GetStore().List()
	if len(have) != len(want) {
		return fmt.Errorf("informer holds %d pods, the apiserver %d", len(have), len(want))
	}
	for _, o := range have {
		pod := o.(*corev1.Pod)
		if key := pod.Namespace + "/" + pod.Name; want[key] != pod.ResourceVersion {
			return fmt.Errorf("informer holds %s at %s, the apiserver at %q", key, pod.ResourceVersion, want[key])
		}
	}
	return nil
}

func (i *informer) check(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.faults {
		t.Error(f)
	}
}

// podVersions returns the resource version of each pod at the apiserver.
func podVersions(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]string, error) {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, p := range list.Items {
		versions[p.Namespace+"/"+p.Name] = p.ResourceVersion
	}
	return versions, nil
}

// converge waits until the store of every informer equals the apiserver's state.
func converge(t *testing.T, c *harness.ControlPlane, namespace string, all []*informer) {
	t.Helper()
	harness.Eventually(t, "informers converge", func() error {
		want, err := podVersions(t.Context(), c.Client("admin"), namespace)
		if err != nil {
			return err
		}
		for n, i := range all {
			if err := i.differs(want); err != nil {
				return fmt.Errorf("informer %d: %w", n, err)
			}
		}
		return nil
	})
	for _, i := range all {
		i.check(t)
	}
}

// writer creates, updates and deletes pods directly at the apiserver until its context ends.
type writer struct {
	client    kubernetes.Interface
	namespace string
	done      int // successful writes
}

func (w *writer) run(ctx context.Context, t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pods := w.client.CoreV1().Pods(w.namespace)
	for ctx.Err() == nil {
		name := fmt.Sprintf("w%d-%d", seed, rnd.IntN(30))
		var err error
		switch rnd.IntN(4) {
		case 0, 1:
			_, err = pods.Create(ctx, smallPod(name), metav1.CreateOptions{})
		case 2:
			_, err = pods.Patch(ctx, name, "application/merge-patch+json",
				fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, rnd.Uint32()), metav1.PatchOptions{})
		case 3:
			zero := int64(0)
			err = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
		}
		switch {
		case err == nil:
			w.done++
		case ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err):
			t.Error(err)
		}
	}
}

func smallPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// writeFor runs writers until during returns.
func writeFor(t *testing.T, c *harness.ControlPlane, namespace string, writers int, during func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	all := make([]*writer, writers)
	for n := range all {
		all[n] = &writer{client: c.Client("admin"), namespace: namespace}
		wg.Go(func() { all[n].run(ctx, t, uint64(n)) })
	}
	during()
	stop()
	wg.Wait()
	for _, w := range all {
		if w.done == 0 {
			t.Error("no write of a writer succeeded")
		}
	}
}

// sharers is the number of informers that share a watch.
const sharers = 20

// They start during writes, by lists or by streaming lists.
func TestInformersShareOneWatch(t *testing.T) {
	for name, streaming := range map[string]bool{"lists": false, "streaming lists": true} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
			shareOneWatch(t)
		})
	}
}

func shareOneWatch(t *testing.T) {
	namespace := apiserver.Namespace(t)
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	var all []*informer
	writeFor(t, apiserver, namespace, 4, func() {
		for range sharers {
			all = append(all, startInformer(t, sluice.Client("admin"), namespace))
		}
		for _, i := range all {
			harness.Eventually(t, "informer is synced", func() error {
				if !i.informer.HasSynced() {
					return fmt.Errorf("not synced")
				}
				return nil
			})
		}
		events := servedEvents(t)
		harness.Eventually(t, "events reach the informers", func() error {
			if served := servedEvents(t) - events; served < sharers*50 {
				return fmt.Errorf("only %v events were served", served)
			}
			return nil
		})
		oneWatch(t)
	})
	converge(t, apiserver, namespace, all)
	oneWatch(t)
}

// servedEvents returns the number of pod events that Sluice has sent.
func servedEvents(t *testing.T) float64 {
	t.Helper()
	m, err := sluice.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return m.Sum("sluice_watch_events_total", "resource=pods")
}

// oneWatch waits until the apiserver serves one pod watch besides its own: Sluice's.
func oneWatch(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "one pod watch at the apiserver", func() error {
		n, err := podWatches(t.Context())
		if err == nil && n != ownWatches+1 {
			err = fmt.Errorf("the apiserver serves %v pod watches, %v of them its own", n, ownWatches)
		}
		return err
	})
}
