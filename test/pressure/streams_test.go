package pressure

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// The apiserver allows 100 requests at a time on each connection. Watches that pass fill several of them, and a
// write through Sluice, by the same user as the watches, gets through all the same.
func TestWritesAreNotDelayedByWatchesThatFillConnections(t *testing.T) {
	const watches = 250
	path := createConfigMaps(t, 1, 1)
	s := apiserver.StartSluice(t, harness.SluiceOptions{
		Flags:  []string{"--log-level=warn"},
		Config: "apiVersion: sluice/v1alpha1\nkind: Configuration\ncache:\n  exclude: [configmaps]\n",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var g errgroup.Group
	for range watches {
		g.Go(func() error {
			resp, err := s.Raw("admin").Open(ctx, harness.Request{Path: configMaps + "?watch=1"})
			if err != nil {
				return err
			}
			t.Cleanup(func() { resp.Body.Close() })
			if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || source != "upstream; excluded" {
				return fmt.Errorf("status %d from %s", resp.StatusCode, source)
			}
			first := make([]byte, 1<<10) // the watch has begun at the apiserver
			n, err := resp.Body.Read(first)
			if !bytes.Contains(first[:n], []byte(`"ADDED"`)) {
				return fmt.Errorf("%q, %v", first[:n], err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Raw("admin").Write(ctx, http.MethodPost, path, `{"metadata":{"name":"written"}}`); err != nil {
		t.Error(err)
	}
}
