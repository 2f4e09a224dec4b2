package clients

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// With upstream.compress, a quarter of the bytes of a list fill the cache at most, an event arrives although the
// compressed stream goes on, and a list is the same.
func TestUpstreamCompressionCarriesLessAndShowsTheSame(t *testing.T) {
	namespace := apiserver.Namespace(t)
	samples := harness.Pods(200, namespace, 1)
	if err := apiserver.CreatePods(t.Context(), samples); err != nil {
		t.Fatal(err)
	}
	plain, plainBytes := startFilled(t, false)
	compressed, compressedBytes := startFilled(t, true)
	list := apiserver.Raw("admin").MustGet(t, pods.Path(""), inProtobuf)
	t.Logf("%d bytes, compressed %d; the list has %d", plainBytes, compressedBytes, len(list.Body)) // short answers come plain
	if saved := plainBytes - compressedBytes; saved*4 < int64(len(list.Body))*3 {
		t.Errorf("compression saves %d bytes of a list of %d", saved, len(list.Body))
	}
	pods.in(t, namespace).label(samples[7].Name, "n", "1")
	path := pods.Path(namespace) + "?resourceVersionMatch=Exact&resourceVersion=" + newest(t, apiserver.Raw("admin"), namespace)
	var bodies [2][]byte
	for i, s := range []*harness.Sluice{plain, compressed} {
		harness.Eventually(t, "the update is cached", func() error {
			a, err := s.Raw("admin").Get(t.Context(), path, inJSON)
			if source := a.Header.Get("Sluice-Source"); err == nil && !strings.HasPrefix(source, "cache") {
				err = fmt.Errorf("%d from %q", a.Status, source)
			}
			bodies[i] = a.Body
			return err
		})
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("lists of %d and %d bytes differ", len(bodies[0]), len(bodies[1]))
	}
}

// startFilled starts a gateway with a cache of all pods, and returns how many bytes the apiserver sent to it.
func startFilled(t *testing.T, compress bool) (s *harness.Sluice, received int64) {
	t.Helper()
	link, through := wire.StartLink(t, apiserver.RESTConfig("sluice"))
	s = apiserver.StartSluice(t, harness.SluiceOptions{
		Config:   fmt.Sprintf("apiVersion: sluice/v1alpha1\nkind: Configuration\nupstream: {compress: %v}\n", compress),
		Upstream: through,
	})
	before := link.Answered.Load()
	s.WaitForCacheSync(t, "/api/v1/namespaces/none/pods", "pods.v1") // the first read passes
	return s, link.Answered.Load() - before
}
