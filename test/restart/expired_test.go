package restart

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/codec/json"
	"sluice/test/harness"
)

// expiryLimit is how many seconds a watch waits for the error of its expired version.
const expiryLimit = 100

// A client comes back to a new gateway again and again from a version that the apiserver no longer has,
// together with one that has missed nothing.
func TestClientsOfExpiredVersionsKeepNoOthersFromTheCache(t *testing.T) {
	plane := harness.Start(t)
	create := func(name string) (version string) {
		a := plane.Raw("admin").Must(t, http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
		if version, _ = json.Value(a.Body).Get("metadata", "resourceVersion").Text(); version == "" {
			t.Fatalf("an object without a version: %s", a.Body)
		}
		return version
	}
	expired := create("first")
	create("before")
	plane.Restart(t) // its watch cache begins anew
	current := create("after")
	create("later")
	sluice := plane.StartSluice(t)
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	watch := func(ctx context.Context, version string, seconds int) (*harness.Response, error) {
		path := fmt.Sprintf("/api/v1/namespaces/quiet/configmaps?watch=1&timeoutSeconds=%d&resourceVersion=%s", seconds, version)
		return sluice.Raw("admin").Do(ctx, harness.Request{Path: path})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() {
		for ctx.Err() == nil {
			_, _ = watch(ctx, expired, expiryLimit) // with which error it ends is checked below
		}
	})
	harness.Eventually(t, "a watch that has missed nothing is served", func() error {
		resp, err := watch(t.Context(), current, 1)
		if err != nil {
			return err
		}
		if got := resp.Header.Get("Sluice-Source"); resp.Status != http.StatusOK || !strings.HasPrefix(got, "cache") {
			return fmt.Errorf("%d: %q", resp.Status, got)
		}
		return nil
	})
	if resp, err := watch(t.Context(), expired, expiryLimit); err != nil || !bytes.Contains(resp.Body, []byte("too old resource version")) {
		t.Errorf("version %s has not expired: %+v, %v", expired, resp, err)
	}
	cancel()
	others.Wait()
	if m, err := sluice.Metrics(); err != nil || m.Sum("sluice_watch_ends_total", "source=upstream", "end=expired") == 0 {
		t.Errorf("no passed watch is recorded as expired: %v", err)
	}
}
