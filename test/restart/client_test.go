package restart

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// startInformer starts an informer of the metadata of a core resource until the test ends, and waits until
// it is in sync.
func startInformer(t *testing.T, config *rest.Config, resource string) cache.SharedIndexInformer {
	t.Helper()
	client := metadata.NewForConfigOrDie(config)
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	informer := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal(resource + " is not in sync")
	}
	return informer
}
