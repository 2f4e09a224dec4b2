package clients

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
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
	created, err := apiserver.Client("admin").CoreV1().Pods(namespace).Create(t.Context(), smallPod("seen"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for n, i := range all {
		harness.Eventually(t, fmt.Sprintf("informer %d sees the pod", n), func() error {
			object, _, err := i.GetStore().GetByKey(namespace + "/seen")
			if pod, ok := object.(*corev1.Pod); err == nil && (!ok || pod.UID != created.UID) {
				err = fmt.Errorf("its store has %v", object)
			}
			return err
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

func smallPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}
