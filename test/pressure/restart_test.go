package pressure

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// After a start of Sluice, informers that have lost their connections list everything again.
func TestInformersOfARestartShareTheFill(t *testing.T) {
	const clients = 60
	createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	stop := make(chan struct{})
	defer close(stop)
	all := make([]cache.SharedIndexInformer, clients)
	for i := range all {
		client := kubernetes.NewForConfigOrDie(r.RESTConfig("reader"))
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(o any) (any, error) {
			if m, ok := o.(*corev1.ConfigMap); ok {
				m.Data = nil // to need less memory
			}
			return o, nil
		}))
		all[i] = factory.Core().V1().ConfigMaps().Informer()
		go all[i].Run(stop)
	}
	for _, informer := range all {
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatal("an informer is not in sync")
		}
		if n := len(informer.GetStore().ListKeys()); n < objects {
			t.Errorf("an informer has %d objects", n)
		}
	}
	c := r.counts()
	t.Logf("%v", c)
	if c.listed.requests > listPages || c.listed.bytes > 2*listBytes {
		t.Errorf("Sluice lists %+v", c.listed)
	}
	if c.passed.requests > 6 || c.passed.peak > 3 {
		t.Errorf("%+v passed", c.passed)
	}
}
