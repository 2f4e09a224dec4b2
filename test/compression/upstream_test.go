package compression

import (
	"bytes"
	"fmt"
	"testing"

	"sluice/test/harness"
)

// TestUpstreamCompressionCarriesLessAndShowsTheSame: with upstream.compress, a quarter of the bytes of a list fill the cache at most,
// an event arrives although the compressed stream goes on, and a list is the same.
func TestUpstreamCompressionCarriesLessAndShowsTheSame(t *testing.T) {
	plain, plainBytes := startFilled(t, false)
	compressed, compressedBytes := startFilled(t, true)
	list, err := apiserver.Raw("admin").Get(t.Context(), "/api/v1/pods", "application/vnd.kubernetes.protobuf")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, compressed %d; the list has %d", plainBytes, compressedBytes, len(list.Body)) // what is short comes plain
	if saved := plainBytes - compressedBytes; saved*4 < int64(len(list.Body))*3 {
		t.Errorf("compression saves %d bytes of a list of %d", saved, len(list.Body))
	}
	version := touch(t, 7)
	var lists [2][]byte
	for i, s := range []*harness.Sluice{plain, compressed} {
		reach(t, s, version)
		body, _ := open(t, s, pods+"?resourceVersionMatch=Exact&resourceVersion="+version, "application/json", "")
		lists[i] = readAll(t, body)
	}
	if !bytes.Equal(lists[0], lists[1]) {
		t.Errorf("lists of %d and %d bytes differ", len(lists[0]), len(lists[1]))
	}
}

// startFilled starts a gateway with a cache of all pods, and returns how many bytes the apiserver sent to it.
func startFilled(t *testing.T, compress bool) (s *harness.Sluice, received int64) {
	t.Helper()
	relay := harness.NewRelay(t, apiserver.URL)
	s = apiserver.StartSluice(t, harness.SluiceOptions{
		Config: fmt.Sprintf("apiVersion: sluice/v1alpha1\nkind: Configuration\nupstream: {compress: %v}\n", compress),
		Flags:  []string{"--kubeconfig=" + apiserver.KubeconfigThrough(t, "sluice", relay)},
	})
	before := relay.Answered.Load()
	s.WaitForCacheSync(t, "/api/v1/namespaces/none/pods", "pods.v1") // the first read passes
	return s, relay.Answered.Load() - before
}
