package clients

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"sluice/test/harness"
)

// sharers is the number of informers that share a watch.
const sharers = 20

// They start by lists or by streaming lists.
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
	var all []cache.SharedIndexInformer
	for range sharers {
		factory := informers.NewSharedInformerFactoryWithOptions(sluice.Client("admin"), 0, informers.WithNamespace(namespace))
		all = append(all, factory.Core().V1().Pods().Informer())
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown) // the context of the test has ended
	}
	for _, i := range all {
		cache.WaitForCacheSync(t.Context().Done(), i.HasSynced)
	}
	pods.in(t, namespace).create("seen")
	for n, i := range all {
		harness.Eventually(t, fmt.Sprintf("informer %d sees the pod", n), func() error {
			if keys := i.GetStore().ListKeys(); !slices.Equal(keys, []string{namespace + "/seen"}) {
				return fmt.Errorf("its store has %v", keys)
			}
			return nil
		})
	}
	harness.Eventually(t, "one pod watch at the apiserver", func() error {
		n, err := apiserver.PodWatches(t.Context())
		if err == nil && n != ownWatches+1 {
			err = fmt.Errorf("the apiserver serves %d pod watches, %d of them its own", n, ownWatches)
		}
		return err
	})
}

// An informer needs nothing but the identity of objects.
func TestInformersWorkOnProjections(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streaming %v", media, streaming), func(t *testing.T) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
				followProjection(t, media+";keep=spec.nodeName;quiet=1")
			})
		}
	}
}

func followProjection(t *testing.T, accept string) {
	namespace := apiserver.Namespace(t)
	cfg := sluice.RESTConfig("admin")
	cfg.AcceptContentTypes, cfg.ContentType = accept, "application/json"
	w := pods.in(t, namespace)
	w.create("before")
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(cfg), 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	var updates atomic.Int32
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { updates.Add(1) }}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown) // the context of the test has ended
	cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced)
	for _, patch := range []string{
		`{"metadata":{"annotations":{"omitted":"1"}}}`, `{"metadata":{"annotations":{"omitted":"2"}}}`, `{"metadata":{"labels":{"seen":"yes"}}}`,
	} {
		w.patch("before", patch)
	}
	harness.Eventually(t, "the informer sees the label, and no more fields", func() error {
		object, _, err := informer.GetStore().GetByKey(namespace + "/before")
		pod, ok := object.(*corev1.Pod)
		switch {
		case err != nil:
			return err
		case !ok || pod.Labels["seen"] != "yes":
			return fmt.Errorf("its store has %v", object)
		case len(pod.Spec.Containers) > 0 || pod.Annotations != nil || pod.UID == "" || pod.ResourceVersion == "":
			t.Fatalf("the pod is %v", pod)
		}
		return nil
	})
	if n := updates.Load(); n != 1 {
		t.Errorf("%d updates", n)
	}
}
