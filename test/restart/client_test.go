package restart

import (
	"crypto/tls"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// newHTTPClient returns a client with connections of its own.
func newHTTPClient(config *rest.Config) (*http.Client, error) {
	c := rest.CopyConfig(config)
	tlsConfig, err := rest.TLSConfigFor(c)
	if err != nil {
		return nil, err
	}
	rt, err := rest.HTTPWrappersForConfig(c, &http.Transport{TLSClientConfig: withHTTP1(tlsConfig)})
	return &http.Client{Transport: rt}, err
}

func withHTTP1(c *tls.Config) *tls.Config {
	c.NextProtos = []string{"http/1.1"}
	return c
}

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
