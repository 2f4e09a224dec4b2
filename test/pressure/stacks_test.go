package pressure

import (
	"net/http"
	"strings"
	"testing"

	"sluice/test/harness"
)

// A crowd is mostly idle watches with a connection each. Each has three goroutines: one of its handler and two of its connection.
// Go halves a stack of which less than a quarter is in use, so that a few more bytes in the frames of the filters, which
// wait as long as the watch, take 8 KiB more for each.
func TestConnectionsOfIdleWatchesHaveSmallStacks(t *testing.T) {
	const (
		watches = 200
		most    = 24 << 10 // bytes each: 8 KiB of the handler and of the server, 4 of the reader, and others for a moment
	)
	createConfigMaps(t, 1, 1)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: []string{"--log-level=warn", "--profiling"}})
	s.WaitForCacheSync(t, configMaps, "configmaps.v1")
	before := stacks(t, s)
	for range watches {
		client, err := harness.NewRawClient(s.RESTConfig("admin"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		resp, err := client.Open(t.Context(), harness.Request{Path: configMaps + "?watch=1&resourceVersion=0&allowWatchBookmarks=1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(source, "cache") {
			t.Fatalf("status %d from %s", resp.StatusCode, source)
		}
	}
	if each := (stacks(t, s) - before) / watches; each > most {
		t.Errorf("%.0f bytes of stacks for each watch, at most %d wanted", each, most)
	}
}

// stacks returns how many bytes stacks have after collections, each of which halves those that are too large.
func stacks(t *testing.T, s *harness.Sluice) float64 {
	t.Helper()
	for range 8 {
		if _, err := s.AdminGet("/debug/pprof/heap?gc=1"); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return m.Sum("go_memstats_stack_inuse_bytes")
}
